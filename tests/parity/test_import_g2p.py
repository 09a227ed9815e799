"""The network of g2p_en gives the phonemes of its own code, which is written out here with numpy."""

import gzip
import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest

from seqloom.errors import ModelError
from seqloom.formats.import_folder import import_model
from seqloom.formats.import_g2p import FILE, LETTERS, PHONEMES
from seqloom.runtime.translator import Translator

LONGEST = 20  # phonemes that its own code writes at most
SIZES = {"enc_emb": (29, 8), "dec_emb": (74, 8), "fc_w": (74, 8), "fc_b": (74,)} | {
    f"{net}_{name}": (24, 8) if name[0] == "w" else (24,)
    for net in ("enc", "dec")
    for name in ("w_ih", "w_hh", "b_ih", "b_hh")
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(held, net, x, h):
    """One step, as `grucell` of the package computes it."""
    ours, theirs = x @ held[f"{net}_w_ih"].T + held[f"{net}_b_ih"], h @ held[f"{net}_w_hh"].T + held[f"{net}_b_hh"]
    size = 2 * len(h)
    r, z = np.split(sigmoid(ours[:size] + theirs[:size]), 2)
    n = np.tanh(ours[size:] + r * theirs[size:])
    return (1 - z) * n + z * h


def predict(held, word):
    h = np.zeros(held["enc_w_hh"].shape[1], np.float32)
    for letter in [*word, "</s>"]:
        row = LETTERS.index(letter) if letter in LETTERS else LETTERS.index("<unk>")
        h = cell(held, "enc", held["enc_emb"][row], h)
    found, last = [], PHONEMES.index("<s>")
    for _ in range(LONGEST):
        h = cell(held, "dec", held["dec_emb"][last], h)
        last = int((h @ held["fc_w"].T + held["fc_b"]).argmax())
        if PHONEMES[last] == "</s>":
            break
        found.append(PHONEMES[last])
    return found


def assert_equal_outputs(held, translator, words):
    ours = [text.split()[:LONGEST] for text in translator.translate(words)]
    assert ours == [predict(held, word) for word in words]


@pytest.fixture
def folder(tmp_path):
    """A package with a network that has learned nothing."""
    draw = np.random.default_rng(3)
    held = {name: draw.normal(size=shape).astype(np.float32) for name, shape in SIZES.items()}
    held["fc_b"][:3] = -50  # specials other than the end are never written
    (tmp_path / "g2p_en").mkdir()
    np.savez(tmp_path / "g2p_en" / FILE, **held)
    return tmp_path / "g2p_en"


def test_the_outputs_of_its_equations(folder, tmp_path):
    facts = import_model(folder, tmp_path / "out")
    assert facts.params > 0
    with np.load(folder / FILE) as stored:
        held = {name: stored[name] for name in stored.files}
    translator = Translator.load(tmp_path / "out")
    draw = random.Random(2)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz'-", k=draw.randint(1, 12))) for _ in range(50)]
    assert_equal_outputs(held, translator, [f"a{word}" for word in words])  # a mark alone comes back unchanged
    assert translator.translate("HeLLo") == translator.translate("hello")


@pytest.mark.data
def test_the_published_network_on_1000_words_of_cmudict(data_dir, tmp_path):
    spec = importlib.util.find_spec("g2p_en")
    if spec is None:
        pytest.skip("g2p_en is not installed: pip install g2p_en --no-deps")
    import_model(Path("g2p_en"), tmp_path / "out")
    with np.load(Path(spec.submodule_search_locations[0]) / FILE) as stored:
        held = {name: stored[name] for name in stored.files}
    with gzip.open(data_dir / "cmudict-g2p" / "g014b2b.test.gz", "rt", encoding="utf-8") as lines:
        words = sorted({line.split("\t")[0].lower() for line in lines})
    assert_equal_outputs(held, Translator.load(tmp_path / "out"), random.Random(1).sample(words, 1000))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.pop("fc_b"), "fc_b: want shape [74], got nothing"),
        (lambda held: held.pop("enc_w_hh"), "enc_w_hh: want shape [24, 8], got nothing"),
        (lambda held: held.update(dec_emb=np.zeros((73, 8))), "dec_emb: want shape [74, 8], got [73, 8]"),
        (lambda held: held.update(fc_w=np.array([{}], dtype=object)), "cannot be read"),
        (lambda held: held.update(big=np.zeros(2**24)), "its arrays are larger than"),
    ],
)
def test_other_arrays_are_refused(folder, tmp_path, change, said):
    with np.load(folder / FILE) as stored:
        held = {name: stored[name] for name in stored.files}
    change(held)
    np.savez_compressed(folder / FILE, **held)
    with pytest.raises(ModelError) as raised:
        import_model(folder, tmp_path / "out")
    assert said in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_and_a_missing_package_are_sentences(folder, tmp_path, monkeypatch):
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:500])
    with pytest.raises(ModelError, match="Install g2p_en again"):
        import_model(folder, tmp_path / "out")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install g2p_en --no-deps"):
        import_model(Path("g2p_en"), tmp_path / "out")
