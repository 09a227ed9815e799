"""The graphs of `export --format onnx`, driven by ONNX Runtime, say what the model says: ids, scores, every step."""

import json
import re
import shutil
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch

from seqloom.config import dump_config, load_config
from seqloom.decode.search import search
from seqloom.errors import ModelError, UsageError
from seqloom.formats.check_engine import check_golden
from seqloom.formats.export_onnx import check_greedily
from seqloom.formats.onnx_contract import memory_tensors
from seqloom.formats.quantise_onnx import quantise
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.nn.cells import CELLS
from seqloom.nn.onnx_layer import OPERATORS, use_operators
from seqloom.nn.recurrent import Recurrent
from seqloom.runtime.engine_folder import write_engine
from seqloom.runtime.engine_onnx import OnnxEngine
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD
from seqloom.workflows.export import export

onnx = pytest.importorskip("onnx")
greedy = pytest.importorskip("seqloom.formats.onnx_greedy")
PAGES = Path(__file__).parents[2] / "docs" / "how-to"
TEXTS = ["a small cat sat on the mat", "the dog ran", "un petit chat dort", "a"]
SMALL = "model.width=8 model.heads=2 model.ffn_size=12 model.layers=1 data.max_tokens=30 text.tokenizer=char"
SHAPES = [  # tracing takes seconds: few every day
    "model.kind=rnn model.cell=gru model.attention=additive model.bidirectional=true model.embed_scale=false",
    "model.kind=rnn model.cell=lstm model.attention=none model.bidirectional=false data.reverse_source=true",
]
MORE_SHAPES = [
    "model.kind=transformer model.norm=pre model.decoder_layers=2",
    "model.kind=transformer model.norm=post model.positions=rotary model.tied=false text.joint=false",
    "model.kind=rnn model.cell=lstm model.attention=bilinear model.decoder=luong model.bidirectional=true",
    "model.kind=transformer model.norm=post model.positions=learned model.embed_norm=true model.activation=gelu",
    "model.kind=transformer model.positions=none model.activation=silu",
    "model.kind=transformer model.max_length=6",  # sinusoids know no end: the table is made longer
    "model.kind=rnn model.cell=gru model.attention=additive model.bidirectional=true model.layers=2",
    "model.kind=rnn model.cell=rnn model.attention=scaled_dot model.bidirectional=false model.decoder_layers=2",
    "model.kind=rnn model.cell=rnn_relu model.attention=gaussian model.init_range=0.2",
    "model.kind=rnn model.cell=gru_fused model.attention=dot model.decoder=luong model.layers=2",
    "model.kind=rnn model.cell=gru_fused model.attention=none model.feed_context=true model.bidirectional=true",
    "model.kind=rnn model.maxout=5 model.tied=false model.embed_size=6 model.encoder_width=12 text.joint=false",
    "model.kind=gpt model.positions=rotary",
    "model.kind=gpt model.norm=post model.positions=learned",
    "task.name=denoise model.kind=transformer",
]


@pytest.fixture(autouse=True, scope="module")
def shapes_unchecked():
    """While a graph is traced lengths are symbols, which the checks of shapes would pin to numbers."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def make_run(folder, *settings):
    """A run folder with random weights that end a sentence now and then."""
    config = load_config(overrides=[*SMALL.split(), *settings])
    source = learn_tokenizer("char", TEXTS, 300)
    tokenizers = Tokenizers(source, source if config.text.joint else learn_tokenizer("char", TEXTS[:2], 300))
    torch.manual_seed(2)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target), tokenizers.joint)
    if hasattr(model, "output"):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += (0.0 if config.model.init_range else 0.3) * torch.randn_like(parameter)
            model.output.bias[EOS] = 2.0
    folder.mkdir()
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    (folder / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
    (folder / "golden.json").write_text(json.dumps([{"source": text, "target": ""} for text in TEXTS]), "utf-8")
    tokenizers.save(folder)
    save_weights(model, folder / "model.safetensors")
    return folder


@pytest.fixture(
    scope="module",
    params=[*SHAPES, *(pytest.param(shape, marks=pytest.mark.slow) for shape in MORE_SHAPES)],
    ids=lambda shape: shape.replace("model.", "").replace(" ", "-"),
)
def exported(request, tmp_path_factory):
    """The run, its model and the folder of its graphs."""
    folder = tmp_path_factory.mktemp("shape")
    run = make_run(folder / "run", *request.param.split())
    return open_run(run), load_model(open_run(run)), export(run, "onnx", folder / "onnx", tell=print)


def pad(rows):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


@pytest.mark.parametrize("lengths", [[7, 3, 9, 1], [1], [30, 2]])
def test_a_greedy_loop_writes_the_same_ids(exported, lengths):
    run, model, folder = exported
    draw = np.random.default_rng(len(lengths))
    sources = [draw.integers(4, len(run.tokenizers.source), length).tolist() for length in lengths]
    src = pad([[*ids, EOS] for ids in sources])
    with torch.inference_mode():
        expected = [found[0] for found in search(model, model.encode(src, src != PAD), beam=1)]
    found = greedy.OnnxGreedy(folder).search(sources)
    assert [(each.ids, each.ended) for each in found] == [(each.ids, each.ended) for each in expected]
    assert [each.log_prob for each in found] == pytest.approx([each.log_prob for each in expected], abs=1e-4)


@pytest.mark.parametrize(("lengths", "beams"), [([4, 1, 6], 1), ([1], 1), ([3, 2], 4)])
def test_every_tensor_and_every_step_is_the_models(exported, lengths, beams):
    """Also with several rows a sentence, which share its memory, and with a source of </s> alone."""
    _, model, folder = exported
    graphs = greedy.OnnxGreedy(folder)
    draw = torch.Generator().manual_seed(1)
    src = pad([[*torch.randint(4, 9, (length - 1,), generator=draw).tolist(), EOS] for length in lengths])
    with torch.inference_mode():
        memory = model.encode(src, src != PAD)
        made = graphs.encoder.run({"tokens": src.numpy()})
        for name, tensor in memory_tensors(model, vars(memory)).items():
            np.testing.assert_allclose(made[name], tensor.numpy(), atol=1e-4, err_msg=name)
        state, token = model.start(memory, beams), torch.full((len(src) * beams,), BOS)
        feeds = {name: part.repeat(beams, 0) if name.startswith("state") else part for name, part in made.items()}
        inputs, origin = graphs.about["step"]["inputs"], "first"
        for _ in range(5):
            hidden, state = model.step(token[:, None], state, memory)
            expected = model.project(hidden[:, 0]).log_softmax(-1)
            fed = {each["name"]: feeds[each[origin]] for each in inputs if origin in each}
            feeds |= graphs.step.run({"token": token.numpy(), **fed})
            np.testing.assert_allclose(feeds["log_probs"], expected.numpy(), atol=1e-4)
            token, origin = torch.randint(4, expected.shape[1], token.shape, generator=draw), "then"


def test_the_files_are_sound_and_say_what_they_are(exported):
    _, _, folder = exported
    about = json.loads((folder / "onnx.json").read_text("utf-8"))
    made = {each["name"] for graph in ("encoder", "step") for each in about[graph]["outputs"]}
    for name in ("encoder", "step"):
        content = (folder / about[name]["file"]).read_bytes()
        model = onnx.load_from_string(content)
        onnx.checker.check_model(model, full_check=True)
        assert [value.name for value in model.graph.input] == [each["name"] for each in about[name]["inputs"]]
        assert [value.name for value in model.graph.output] == [each["name"] for each in about[name]["outputs"]]
        assert b"site-packages" not in content and b".py" not in content  # nobody's business where it was made
    assert {each[when] for each in about["step"]["inputs"][1:] for when in ("first", "then")} <= made
    free = {axis for each in about["step"]["inputs"] for axis in each["shape"] if isinstance(axis, str)}
    assert free <= {"batch", "rows", "source", "past"}
    assert Tokenizers.load(folder).source.encode("a cat") == exported[0].tokenizers.source.encode("a cat")


def test_the_loop_that_the_page_shows_translates(exported):
    run, model, folder = exported
    section = (PAGES / "export.md").read_text("utf-8").partition("\n## ONNX\n")[2]
    (code,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    shown = {}
    exec(code.replace('"exported-onnx"', repr(str(folder))), shown)
    assert shown["translate"](TEXTS[0]) == Translator(model, run.tokenizers, run.config).translate(TEXTS[0], beam=1)


def test_graphs_that_answer_otherwise_are_not_kept(exported, tmp_path):
    run, _, folder = exported
    out, other = shutil.copytree(folder, tmp_path / "out"), load_model(run)
    check_greedily(run, other, out)
    with torch.no_grad():
        other.output.bias[5] += 20.0
    with pytest.raises(ModelError, match=r"run: not exported, because the graphs translate .* and the torch engine to"):
        check_greedily(run, other, out)


@pytest.mark.parametrize("task", ["classify", "tag", "masked", "language"])
def test_models_without_two_graphs(tmp_path, task):
    kind = "gpt" if task == "language" else "transformer"
    run = make_run(tmp_path / "run", f"task.name={task}", f"model.kind={kind}")
    with pytest.raises(UsageError, match="run cannot be exported to ONNX: "):
        export(run, "onnx", tmp_path / "out", tell=print)
    assert not (tmp_path / "out").exists()


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    run = make_run(tmp_path / "run")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs onnx, onnxscript, onnxruntime: pip install 'seqloom\[onnx\]'"):
        export(run, "onnx", tmp_path / "out", tell=print)


def test_a_cell_without_an_operator_is_refused(monkeypatch):
    monkeypatch.delitem(OPERATORS, CELLS["rnn"])
    message = r"model.cell = rnn: cannot be exported to ONNX, .* only for rnn_relu, lstm, gru, gru_fused\."
    with pytest.raises(UsageError, match=message):
        use_operators(Recurrent("rnn", 2, 4, 1, ("forward",), 0.0))


# --- the engine that runs them ------------------------------------------------------------------------------------


@pytest.fixture
def with_engine(exported):
    """The run of a recurrent model with these graphs as its engine/."""
    run, _, folder = exported
    if run.config.model.kind != "rnn":
        pytest.skip("the engine of a Transformer is CTranslate2")

    def fill(into):
        for name in ("encoder.onnx", "step.onnx"):
            shutil.copy(folder / name, into)

    write_engine(run, fill, engine="onnx")
    yield run.path
    shutil.rmtree(run.path / "engine", ignore_errors=True)


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_engine_answers_as_the_reference_does(with_engine, threads):
    fast, reference = (Translator.load(with_engine, threads, engine=name) for name in ("auto", "torch"))
    assert fast.engine.name == "onnx"
    asks = [
        lambda each: each.hypotheses(TEXTS, 1),
        lambda each: each.hypotheses(TEXTS, 3, 2, length_penalty=0.7),
        lambda each: each.hypotheses(TEXTS, 2, prefixes="un", no_repeat_ngram=3, min_length=4),
        lambda each: each.alternatives(TEXTS, 2),
        lambda each: each.sample(TEXTS, 2, seed=4),
    ]
    for ask in asks:
        found, expected = ask(fast), ask(reference)
        assert [[one.text for one in ranked] for ranked in found] == [[one.text for one in r] for r in expected]
        scores = [[one.score for ranked in side for one in ranked] for side in (found, expected)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_what_the_engine_lacks_torch_answers(with_engine):
    said = []
    fast = Translator.load(with_engine, notice=said.append)
    if fast.config.model.attention == "none":
        pytest.skip("no attention: nobody can read it")
    found = fast.translate(TEXTS, coverage_penalty=0.2)
    assert found == Translator.load(with_engine, engine="torch").translate(TEXTS, coverage_penalty=0.2)
    lack = "coverage_penalty, which reads the attention"
    assert said == [f"the engine onnx does not support {lack}; using torch (slower)"]


def test_an_engine_of_another_kind_or_of_other_weights_is_named(with_engine):
    with pytest.raises(ModelError, match="CTranslate2 runs Transformers"):
        Translator.load(with_engine, engine="ctranslate2")
    (with_engine / "engine" / "step.onnx").write_bytes(b"rot")
    with pytest.raises(ModelError, match=r"step.onnx: damaged.* --format onnx` makes it again"):
        Translator.load(with_engine, engine="onnx")


def test_the_command_makes_the_engine(tmp_path):
    run = make_run(tmp_path / "run", *SHAPES[0].split())
    golden = [{"source": text, "target": Translator.load(run).translate(text)} for text in TEXTS]
    (run / "golden.json").write_text(json.dumps(golden), "utf-8")
    assert export(run, "onnx", tell=print) == run / "engine"
    assert Translator.load(run).engine.name == "onnx"
    golden[1]["target"] = "something else"
    (run / "golden.json").write_text(json.dumps(golden), "utf-8")
    with pytest.raises(ModelError, match="removed, because it translates 'the dog ran' to"):
        check_golden(run, run / "engine", "onnx")


def test_in_8_bits_every_product_with_a_weight_is_of_whole_numbers(with_engine, exported):
    run, _, folder = exported
    products = [node for node in onnx.load(folder / "step.onnx").graph.node if node.op_type in ("MatMul", "Gemm")]
    before = Translator.load(with_engine).hypotheses(TEXTS, 2)
    for name in ("encoder.onnx", "step.onnx"):
        quantise(run.path / "engine" / name)
    graph = onnx.load(run.path / "engine" / "step.onnx").graph
    weights = {weight.name for weight in graph.initializer if len(weight.dims) == 2}
    left = [node for node in graph.node if node.op_type in ("MatMul", "Gemm")]
    assert not [node.name for node in left if weights & set(node.input)]
    assert 0 < sum(node.op_type == "MatMulInteger" for node in graph.node) <= len(products) - len(left)
    engine = OnnxEngine(run.path / "engine", len(run.tokenizers.target), 8, 1)
    after = Translator(None, run.tokenizers, run.config, engine=engine).hypotheses(TEXTS, 2)
    scores = [[one.score for ranked in side for one in ranked] for side in (before, after)]
    assert scores[0] != scores[1] == pytest.approx(scores[0], abs=0.15)


@pytest.mark.slow
def test_what_8_bits_cost_is_told(tmp_path, capsys):
    run = make_run(tmp_path / "run", *SHAPES[0].split())
    (run / "golden.json").unlink()
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{text}\t{text}\n" for text in TEXTS if text.strip()), "utf-8")
    assert export(run, "onnx", int8=True, data=str(pairs), tell=print) == run / "engine"
    assert re.search(r"int8: BLEU [\d.]+ on \d+ validation pairs, [+-][\d.]+ against", capsys.readouterr().out)
    assert json.loads((run / "engine" / "manifest.json").read_text("utf-8"))["precision"] == "int8"
    assert Translator.load(run).engine.name == "onnx"


def test_a_transformer_is_sent_to_its_own_engine(tmp_path):
    with pytest.raises(UsageError, match="the engine of a transformer is CTranslate2: use --format ctranslate2"):
        export(make_run(tmp_path / "run", "model.kind=transformer"), "onnx", tell=print)
