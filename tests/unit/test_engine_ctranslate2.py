"""CTranslate2 gives the outputs of the torch engine; torch does what it lacks; a wrong engine is not used."""

import gzip
import json
import shutil

import pytest
import torch

from seqloom.config import dump_config, load_config
from seqloom.errors import ModelError, UsageError
from seqloom.formats.export_ctranslate2 import make_engine
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.nn.positions import sinusoids as reference_sinusoids
from seqloom.runtime.engine_ctranslate2 import CTranslate2Engine
from seqloom.runtime.engine_folder import FOLDER
from seqloom.runtime.transformer_weights import sinusoids
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD
from seqloom.workflows.export import export

TEXTS = ["a small cat sat on the mat.", "the dog ran. then it slept!", "un petit chat dort", "où est-il ? là-bas", "a"]
SMALL = (
    "model.width=16", "model.heads=2", "model.layers=2", "model.ffn_size=24", "text.vocab_size=300",
    "data.max_tokens=60", "decode.batch_size=3",
)  # fmt: skip
SHAPES = [
    ("model.norm=pre",),
    ("model.norm=post", "model.tied=false", "model.decoder_layers=1"),
    ("model.norm=post", "text.joint=false", "model.positions=learned", "model.activation=silu"),
    ("model.norm=pre", "model.positions=none", "model.embed_scale=false", "model.activation=gelu"),
    ("model.norm=post", "model.positions=rotary", "model.heads=1"),
    ("model.norm=pre", "model.positions=rotary", "text.joint=false"),
    ("model.norm=post", "model.embed_norm=true", "model.norm_eps=0.01", "model.activation=gelu_tanh"),
]


def make_run(folder, *settings, end=4.0):
    """A run folder with random weights that never write <pad> or <s>, as none does after training."""
    torch.manual_seed(5)
    config = load_config(overrides=[*SMALL, *settings])
    kind, size = config.text.tokenizer, config.text.vocab_size
    source = learn_tokenizer(kind, TEXTS, size)
    tokenizers = Tokenizers(source, source if config.text.joint else learn_tokenizer(kind, TEXTS[2:], size - 9))
    model = build_model(config, len(tokenizers.source), len(tokenizers.target), tokenizers.joint)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
        model.output.bias[EOS] = end
        model.output.bias[[PAD, BOS]] = -20.0
    folder.mkdir()
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    (folder / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
    tokenizers.save(folder)
    save_weights(model, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: "-".join(shape))
def run(request, tmp_path_factory):
    folder = make_run(tmp_path_factory.mktemp("shape") / "run", *request.param)
    make_engine(folder, tell=print)
    return folder


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    folder = make_run(tmp_path_factory.mktemp("one") / "run", *SHAPES[0])
    make_engine(folder, tell=print)
    return folder


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 5])
def test_a_whole_test_set_comes_out_alike(one, data_dir, beam):
    """Ties aside: where a text is another, its score is the same."""
    texts = gzip.decompress((data_dir / "multi30k" / "test2016.en.gz").read_bytes()).decode().splitlines()
    engines = (Translator.load(one, 1, engine=name) for name in ("auto", "torch"))
    fast, reference = (engine.hypotheses(texts, beam, warn=str) for engine in engines)  # the long ones are split
    scores = [[found.score for (found,) in side] for side in (fast, reference)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    assert sum(a[0].text != b[0].text for a, b in zip(fast, reference, strict=True)) <= 2


@pytest.fixture
def copy(one, tmp_path):
    return shutil.copytree(one, tmp_path / "run")


def assert_alike(found, expected):
    assert [[h.text for h in ranked] for ranked in found] == [[h.text for h in ranked] for ranked in expected]
    for name in ("score", "log_prob"):
        values = [[getattr(h, name) for ranked in side for h in ranked] for side in (found, expected)]
        assert values[0] == pytest.approx(values[1], abs=1e-4)


@pytest.mark.parametrize(
    ("beam", "n_best", "settings"),
    [
        (1, 1, {}),
        (4, 4, {}),
        (3, 1, {"length_penalty": 0.0}),
        (2, 2, {"length_penalty": 0.5}),
        (4, 4, {"max_length": 5}),
    ],
)
def test_the_same_outputs_and_scores_as_the_torch_engine(run, beam, n_best, settings):
    fast, reference = Translator.load(run, threads=2), Translator.load(run, engine="torch")
    assert (fast.engine.name, reference.engine.name) == ("ctranslate2", "torch")
    texts = [TEXTS[0], "", TEXTS[2], "the cat. the dog.", "a"]
    assert_alike(
        fast.hypotheses(texts, beam, n_best, **settings), reference.hypotheses(texts, beam, n_best, **settings)
    )


@pytest.mark.parametrize("beam", [1, 3])
def test_each_sentence_has_its_own_length_limit(tmp_path, beam):
    """Nothing ends by itself here: every output is cut, each at twice its own source."""
    folder = make_run(tmp_path / "run", *SHAPES[0], "decode.batch_size=64", end=-20.0)
    make_engine(folder, tell=print)
    fast, reference = (Translator.load(folder, threads=1, engine=name) for name in ("auto", "torch"))
    found, expected = (each.search([[7], [8, 9, 10, 11], [9] * 20], beam) for each in (fast, reference))
    assert [len(ranked[0].ids) for ranked in found] == [54, 60, 92]
    assert [ranked[0].ids for ranked in found] == [ranked[0].ids for ranked in expected]
    assert not any(ranked[0].ended for ranked in found)


@pytest.mark.slow
def test_an_output_longer_than_its_positions_is_left_to_torch(tmp_path):
    folder = make_run(tmp_path / "run", *SHAPES[0], end=-20.0)
    make_engine(folder, tell=print)
    fast, reference = (Translator.load(folder, engine=name, notice=print) for name in ("auto", "torch"))
    longest = fast.config.longest_output
    for most in (longest, longest + 1):
        found, expected = (each.hypotheses(["a"], 1, max_length=most)[0][0].text for each in (fast, reference))
        assert found == expected


def test_what_is_never_written_is_not_written(tmp_path):
    """An untrained model would write <pad>."""
    folder = make_run(tmp_path / "run", *SHAPES[0])
    reference = Translator.load(folder)
    with torch.no_grad():
        reference.model.output.bias[PAD] = 9.0
    save_weights(reference.model, folder / "model.safetensors")
    make_engine(folder, tell=print)
    fast = Translator.load(folder)
    assert fast.engine.name == "ctranslate2"
    assert all(PAD not in ranked[0].ids for beam in (1, 3) for ranked in fast.search([[7, 8], [9]], beam))


def test_what_the_engine_lacks_torch_answers_with_one_notice(one):
    said = []
    fast, reference = Translator.load(one, notice=said.append), Translator.load(one, engine="torch")
    asks = [
        lambda t: t.hypotheses(TEXTS[:2], 2, min_length=5),
        lambda t: t.hypotheses(TEXTS[:2], 2, no_repeat_ngram=2),
        lambda t: t.hypotheses(TEXTS[:2], 2, coverage_penalty=0.1),
        lambda t: t.hypotheses(TEXTS[:2], 2, prefixes="un"),
        lambda t: t.sample(TEXTS[:2], 2),
        lambda t: t.hypotheses(TEXTS[:2], 2, max_length=300),
    ]
    for ask in asks:
        assert ask(fast) == ask(reference)
    asks[0](fast)
    assert len(said) == len(asks)
    assert said[0] == "the engine ctranslate2 does not support min_length as Seqloom defines it; using torch (slower)"
    assert fast.align("a cat", "un chat")[2].tolist() == reference.align("a cat", "un chat")[2].tolist()


def test_the_engine_answers_on_a_device_that_turns_out_to_be_the_cpu(one, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert Translator.load(one, device="auto").engine.name == "ctranslate2"


def damage_file(name, content):
    return lambda folder: (folder / FOLDER / name).write_bytes(content)


def change_weights(folder):
    translator = Translator.load(folder, engine="torch")
    with torch.no_grad():
        translator.model.output.bias += 0.1
    save_weights(translator.model, folder / "model.safetensors")


def change_settings(folder):
    file = folder / "config.toml"
    file.write_text(file.read_text("utf-8").replace("heads = 2", "heads = 4"), "utf-8")


def newer_manifest(folder):
    file = folder / FOLDER / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | {"format": 9}), "utf-8")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (change_weights, "engine: out of date: made from other weights"),
        (change_settings, "engine: out of date: made from other weights, settings or another tokenizer"),
        (damage_file("model.bin", b"\x06\x00"), "model.bin: damaged"),
        (damage_file("manifest.json", b"{"), "manifest.json: damaged"),
        (damage_file("manifest.json", b"[]"), "manifest.json: damaged"),
        (lambda folder: (folder / FOLDER / "model.bin").unlink(), "model.bin: missing"),
        (newer_manifest, "written in format 9"),
    ],
)
def test_an_engine_that_does_not_fit_is_named_and_passed_over(copy, damage, said):
    damage(copy)
    told = []
    translator = Translator.load(copy, notice=told.append)
    assert translator.engine.name == "torch"
    (message,) = told
    assert said in message
    assert f"`seqloom export {copy} --format ctranslate2` makes it again" in message
    with pytest.raises(ModelError, match="makes it again"):
        Translator.load(copy, engine="ctranslate2")
    make_engine(copy, tell=print)
    assert Translator.load(copy).engine.name == "ctranslate2"


def test_models_without_a_fast_form(tmp_path, one):
    folder = make_run(tmp_path / "run", "model.kind=gpt")
    assert make_engine(folder, tell=print) is None
    assert Translator.load(folder).engine.name == "torch"
    with pytest.raises(ModelError, match=r"model\.kind = gpt"):
        Translator.load(folder, engine="ctranslate2")
    with pytest.raises(
        UsageError, match=r"engine = 'torhc': want auto, ctranslate2, onnx, recurrent, torch. Did you mean 'torch'\?"
    ):
        Translator.load(folder, engine="torhc")
    told = []
    both = Translator.load_ensemble([one, one], notice=told.append)
    assert (both.engine.name, len(told)) == ("torch", 1)


def test_an_engine_that_the_own_settings_would_never_use_is_not_made(tmp_path):
    folder = make_run(tmp_path / "run", *SHAPES[0], "decode.no_repeat_ngram=3")
    assert make_engine(folder, tell=print) is None
    assert not (folder / FOLDER).exists()
    with pytest.raises(
        UsageError, match=r"defines decode\.no_repeat_ngram in another way, so this model always uses the torch engine"
    ):
        export(folder, "ctranslate2", tell=print)
    export(folder, "ctranslate2", tmp_path / "out", tell=print)  # for CTranslate2 itself, whose rules one then has
    assert (tmp_path / "out" / "model.bin").is_file()


def test_an_engine_is_not_kept_on_the_word_of_torch(copy, monkeypatch):
    """Its answers are compared with those of the weights, so they must be its own."""
    (copy / "golden.json").write_text(
        json.dumps([{"source": "a", "target": Translator.load(copy, engine="torch").translate("a")}]), "utf-8"
    )
    monkeypatch.setattr(CTranslate2Engine, "lacks", lambda *_: "everything")
    shutil.rmtree(copy / FOLDER)
    with (
        pytest.warns(UserWarning, match="torch"),
        pytest.raises(ModelError, match="the engine did not translate"),
    ):
        make_engine(copy, tell=print)
    assert not (copy / FOLDER).exists()


def test_an_engine_that_answers_otherwise_is_not_kept(copy):
    (copy / "golden.json").write_text('[{"source": "a cat", "target": "never"}]', "utf-8")
    (copy / FOLDER / ".mark").touch()
    with pytest.raises(ModelError, match=r"engine: removed, because it translates 'a cat' to"):
        make_engine(copy, tell=print)
    assert (copy / FOLDER / ".mark").exists(), "the older one is back"
    assert not (copy / f".{FOLDER}.before").exists()
    (copy / "golden.json").write_text(
        json.dumps([{"source": "a", "target": Translator.load(copy).translate("a")}]), "utf-8"
    )
    assert make_engine(copy, tell=print) == copy / FOLDER


def test_positions_are_those_of_the_model():
    for width in (6, 7, 16):
        assert torch.equal(torch.from_numpy(sinusoids(90, width)), reference_sinusoids(90, width))
