"""A compact folder is a model folder: every command reads it, and it is about a quarter of the size."""

import json
import shutil

import pytest

from seqloom.runtime.translator import Translator

KINDS = {
    "transformer": ("model.kind=transformer", "model.positions=rotary", "text.tokenizer=bpe", "model.width=16"),
    "recurrent": ("model.kind=rnn", "model.width=16"),
    "labels": ("task.name=classify", "model.width=16"),
}


@pytest.fixture(scope="module", params=["transformer", "recurrent"])
def folders(request, seqloom, random_model, tmp_path_factory):
    """A model folder with golden sentences, and its compact form."""
    place = tmp_path_factory.mktemp("compact")
    whole = shutil.copytree(random_model(*KINDS[request.param]), place / "whole")
    (whole / "golden.json").write_text('[{"source": "the cat", "target": "what a beam found"}]', "utf-8")
    (whole / "card.md").write_text("# A card\n", "utf-8")
    done = seqloom("export", whole, "--format", "compact", "--out", place / "small")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{place / 'small'}\n", "")
    return whole, place / "small"


def test_it_is_small_and_whole(seqloom, folders):
    small = folders[1]
    assert sorted(file.name for file in small.iterdir()) == [
        "card.md", "config.toml", "golden.json", "model.safetensors", "run.json", "tokenizer",
    ]  # fmt: skip
    sizes = [(folder / "model.safetensors").stat().st_size for folder in folders]
    assert sizes[1] < 0.55 * sizes[0]  # rows of 16 numbers; long rows come near a quarter
    checked = seqloom("info", small, "--check")
    assert checked.returncode == 0
    assert "1 golden sentences: same translations" in checked.stderr and "SHA-256 as run.json says" in checked.stderr
    golden = json.loads((small / "golden.json").read_text("utf-8"))
    assert golden[0]["target"] == Translator.load(small, engine="torch").translate("the cat")


@pytest.mark.slow
def test_every_command_takes_it(seqloom, folders, tmp_path):
    _, small = folders
    (tmp_path / "pairs.tsv").write_text("the cat\tle chat\na dog\tun chien\n", "utf-8")
    for words in (
        ["translate", small, "the cat"],
        ["score", small, tmp_path / "pairs.tsv"],
        ["explain", small, "the cat", "-o", tmp_path / "page.html"],
        ["evaluate", small, tmp_path / "pairs.tsv"],
        ["info", small],
    ):
        done = seqloom(*words)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_the_engines_agree(folders):
    _, small = folders
    fast, reference = Translator.load(small, threads=1), Translator.load(small, engine="torch")
    assert fast.engine.name == ("recurrent" if fast.config.model.kind == "rnn" else "ctranslate2")
    texts = ["the cat sat on the mat", "a small dog"]
    close = 0.05 if fast.engine.name == "ctranslate2" else 1e-4  # it rounds what it multiplies, too
    for mine, others in zip(fast.hypotheses(texts, 2), reference.hypotheses(texts, 2), strict=True):
        assert mine[0].score == pytest.approx(others[0].score, abs=close)


def test_labels_too(seqloom, random_model, tmp_path):
    """A task without translations has golden sentences of its own."""
    whole = shutil.copytree(random_model(*KINDS["labels"]), tmp_path / "whole")
    done = seqloom("export", whole, "--format", "compact", "--out", tmp_path / "small")
    assert done.returncode == 0, done.stderr
    found = [seqloom("translate", folder, "the cat").stdout for folder in (whole, tmp_path / "small")]
    assert found[0] == found[1] != ""


def test_what_cannot_be_done_is_a_sentence(seqloom, folders, tmp_path):
    whole, small = folders
    for words, said in (
        ([small, "--format", "compact", "--out", tmp_path / "x"], "the weights are compact already"),
        ([whole, "--format", "compact"], "name the folder to write with --out"),
        ([whole, "--format", "compact", "--int8", "--out", tmp_path / "x"], "are for engines"),
    ):
        done = seqloom("export", *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_weights_of_another_shape_never_reach_the_engine(seqloom, folders, random_model, tmp_path):
    """CTranslate2 trusts the sizes in a model."""
    other = random_model("model.kind=transformer", "model.positions=rotary", "text.tokenizer=bpe", "model.width=24")
    assert seqloom("export", other, "--format", "compact", "--out", tmp_path / "other").returncode == 0
    copy = shutil.copytree(folders[1], tmp_path / "copy")
    shutil.copyfile(tmp_path / "other" / "model.safetensors", copy / "model.safetensors")
    done = seqloom("translate", copy, "the cat")
    assert (done.returncode, "its content has changed" in done.stderr) == (4, True), done.stderr
    facts = json.loads((copy / "run.json").read_text("utf-8"))
    del facts["weights_sha256"]
    (copy / "run.json").write_text(json.dumps(facts), "utf-8")
    done = seqloom("translate", copy, "the cat")
    assert (done.returncode, "Traceback" in done.stderr) == (4, False), done.stderr
    assert "not the weights of the model that config.toml and the tokenizer describe" in done.stderr


def test_damage_is_named(seqloom, folders, tmp_path):
    copy = shutil.copytree(folders[1], tmp_path / "copy")
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    done = seqloom("translate", copy, "the cat")
    assert (done.returncode, "damaged or cut short" in done.stderr, "Traceback" in done.stderr) == (4, True, False)
