"""An engine folder from a stranger: its graph or its model file is checked part by part before a library reads it."""

import hashlib
import json
import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seqloom.errors import ModelError
from seqloom.formats.check_engine import EngineOptions
from seqloom.formats.export_ctranslate2 import make_ctranslate2_engine
from seqloom.runtime.ctranslate2_check import check_files
from seqloom.runtime.engine_folder import origin, read_manifest
from seqloom.runtime.folder import RunFolder, open_run
from seqloom.runtime.onnx_check import OPERATORS, BadGraph, check_graph
from seqloom.runtime.translator import Translator

GIGABYTE = 2**30


def add_engine(run: Path, name: str, files: dict[str, bytes]) -> None:
    """Give a run folder an engine whose manifest is right in everything."""
    shutil.rmtree(run / "engine", ignore_errors=True)
    (run / "engine").mkdir()
    for file, content in files.items():
        (run / "engine" / file).write_bytes(content)
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    manifest = {"format": 1, "engine": name, "made_from": origin(open_run(run)), "files": digests}
    (run / "engine" / "manifest.json").write_text(json.dumps(manifest), "utf-8")


@pytest.fixture
def folder(tiny_model, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def translate(folder: Path, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Translate one word with at most 1 GB of memory and in at most 120 seconds (the machine may be loaded)."""
    return subprocess.run(
        [sys.executable, "-m", "seqloom", "translate", str(folder), *options],
        input="abc\n", capture_output=True, text=True, env=environment, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTE, GIGABYTE)),
    )  # fmt: skip


# Graphs

onnx = pytest.importorskip("onnx")
helper, TYPES = onnx.helper, onnx.TensorProto


def model_of(*nodes: object, weights: tuple[object, ...] = (), **more: object) -> bytes:
    """A graph tokens (B,S) -> memory.annotations with these nodes."""
    given = helper.make_tensor_value_info("tokens", TYPES.INT64, ["b", "s"])
    made = helper.make_tensor_value_info("memory.annotations", TYPES.FLOAT, None)
    graph = helper.make_graph(list(nodes), "g", [given], [made], list(weights))
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10, **more
    ).SerializeToString()


def node(operator: str, *inputs: str, out: str = "memory.annotations", **more: object) -> object:
    return helper.make_node(operator, [*inputs], [out], **more)


def numbers(name: str, *values: float, kind: type = np.int64) -> object:
    return onnx.numpy_helper.from_array(np.array(values, kind), name)


def body() -> object:
    """What a Loop runs: for ever."""
    names = ("i", TYPES.INT64), ("go", TYPES.BOOL)
    given = [helper.make_tensor_value_info(name, kind, []) for name, kind in names]
    made = [helper.make_tensor_value_info("on", TYPES.BOOL, [])]
    return helper.make_graph([helper.make_node("Identity", ["go"], ["on"])], "b", given, made)


def outside() -> object:
    tensor = numbers("w", 1.0, kind=np.float32)
    tensor.ClearField("raw_data")
    tensor.data_location = TYPES.EXTERNAL
    tensor.external_data.add(key="location", value="../../secret")
    return tensor


def larger_than_its_numbers(*shape: int) -> object:
    tensor = numbers("w", 1.0, kind=np.float32)
    tensor.ClearField("dims")
    tensor.dims.extend(shape)
    return tensor


def function() -> object:
    return helper.make_function(
        "d", "f", ["x"], ["y"], [helper.make_node("Identity", ["x"], ["y"])], [helper.make_opsetid("", 20)]
    )


ON = onnx.numpy_helper.from_array(np.array(True), "on")
BAD_GRAPHS = {
    "endless loop": (model_of(node("Loop", "", "on", body=body()), weights=(ON,)), "'Loop'"),
    "if": (model_of(node("If", "on", then_branch=body(), else_branch=body()), weights=(ON,)), "'If'"),
    "a graph in a known operator": (model_of(node("Add", "tokens", "tokens", then_branch=body())), "field 6"),
    "8 GB from nothing": (
        model_of(node("ConstantOfShape", "size"), weights=(numbers("size", 2**31),)), "nothing but constants"
    ),
    "8 GB by broadcasting": (
        model_of(node("Add", "a", "b"), weights=(numbers("a", *range(9)), numbers("b", *range(9)))), "nothing but const"
    ),
    "constants of constants": (
        model_of(
            node("Reshape", "size", "one", out="s"), node("ConstantOfShape", "s"),
            weights=(numbers("size", 2**31), numbers("one", 1)),
        ),
        "nothing but constants",
    ),
    "no inputs": (model_of(node("ConstantOfShape")), "nothing but constants"),
    "a random number": (model_of(node("RandomNormalLike", "tokens")), "RandomNormalLike"),
    "an operator of another domain": (model_of(node("Add", "tokens", "tokens", domain="com.microsoft")), "ONNX itself"),
    "a function": (model_of(node("Identity", "tokens"), functions=[function()]), "field 25"),
    "weights outside": (model_of(node("Add", "tokens", "w"), weights=(outside(),)), "field 13"),
    "a tensor without its numbers": (
        model_of(node("Add", "tokens", "w"), weights=(larger_than_its_numbers(2**20, 2**11),)), "more numbers than"
    ),
    "sizes that overflow": (
        model_of(node("Add", "tokens", "w"), weights=(larger_than_its_numbers(2**62, 2**62),)), "more numbers than"
    ),
    "a negative size": (
        model_of(node("Add", "tokens", "w"), weights=(larger_than_its_numbers(-1),)), "more numbers than"
    ),
    "a text tensor": (
        model_of(node("Add", "tokens", "w"), weights=(helper.make_tensor("w", TYPES.STRING, [1], [b"x"]),)), "field 6"
    ),
    "an empty file": (b"", "no graph"),
    "not protobuf": (b"\xff" * 1000, "protobuf|part"),
    "cut short": (model_of(node("Identity", "tokens"))[:-3], "cut short"),
    "a size beyond the end": (b"\x3a\xff\xff\xff\xff\x0f", "cut short"),
    "a long name": (model_of(node("Identity", "t" * 5000)), "name of more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_graphs_that_seqloom_does_not_write(name):
    content, said = BAD_GRAPHS[name]
    with pytest.raises(BadGraph, match=said):
        check_graph(content)


def test_a_plain_graph_passes():
    check_graph(model_of(node("Cast", "tokens", to=TYPES.FLOAT)))
    assert len(OPERATORS) == 41


def engine_refused(folder: Path, engine: str) -> str:
    """The sentence for a folder whose engine is refused; by itself, torch must answer instead."""
    with pytest.raises(ModelError) as refused:
        Translator.load(folder, engine=engine)
    told: list[str] = []
    assert Translator.load(folder, notice=told.append).translate(["abc"])
    assert any("Until then the torch engine is used" in notice for notice in told)
    return str(refused.value)


@pytest.mark.parametrize("name", ["endless loop", "8 GB from nothing", "weights outside", "a function", "cut short"])
def test_a_bad_graph_is_one_sentence_and_torch_answers(folder, name):
    bad = BAD_GRAPHS[name][0]
    add_engine(folder, "onnx", {"encoder.onnx": bad, "step.onnx": bad})
    assert "not a graph that Seqloom has written" in engine_refused(folder, "onnx")


def test_what_a_graph_computes_is_bounded(folder, environment):
    """Two small inputs make a large sum: it depends on the text, so only a budget of memory can refuse it."""
    many = numbers("many", *range(60_000), kind=np.float32)
    bad = model_of(
        node("Cast", "tokens", out="t", to=TYPES.FLOAT),
        node("ReduceSum", "t", out="one", keepdims=0),
        node("Add", "many", "one", out="row"),
        node("Unsqueeze", "row", "axis", out="column"),
        node("Add", "row", "column"),
        weights=(many, numbers("axis", 1)),
    )
    add_engine(folder, "onnx", {"encoder.onnx": bad, "step.onnx": bad})
    done = translate(folder, environment, "--engine", "onnx")
    assert done.returncode == 4, done.stderr
    assert "needs more than 512 MB" in done.stderr and "Traceback" not in done.stderr


# Folders


def test_a_file_that_the_manifest_does_not_list(folder):
    add_engine(folder, "onnx", {"encoder.onnx": b"x", "step.onnx": b"x"})
    read_manifest(open_run(folder))
    (folder / "engine" / ".DS_Store").write_bytes(b"x")
    read_manifest(open_run(folder))
    (folder / "engine" / "config.json").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"manifest\.json: damaged \(it does not list 'config\.json'"):
        read_manifest(open_run(folder))


# CTranslate2


@pytest.fixture(scope="module")
def translators(tmp_path_factory) -> dict[str, RunFolder]:
    """Folders of Transformers with engines, by the settings that change which tensors an engine has."""
    from tests.unit.test_engine_ctranslate2 import SHAPES, make_run  # the shapes that CTranslate2 runs

    found = {}
    for shape in [*SHAPES, ("model.ffn_size=0",)]:
        run = open_run(make_run(tmp_path_factory.mktemp("shape") / "run", *shape))
        make_ctranslate2_engine(run, EngineOptions(), print)
        found["-".join(shape)] = run
    return found


def test_every_engine_that_seqloom_makes_passes(translators):
    for run in translators.values():
        check_files(run.path / "engine", run.config, run.tokenizers)


@pytest.fixture
def plain(translators, tmp_path) -> RunFolder:
    run = next(iter(translators.values()))
    return open_run(Path(shutil.copytree(run.path, tmp_path / "run")))


def change(run: RunFolder, name: bytes, skip: int, value: bytes) -> None:
    """Overwrite bytes of model.bin after the name of a tensor."""
    file = run.path / "engine" / "model.bin"
    content = bytearray(file.read_bytes())
    place = content.index(struct.pack("<H", len(name) + 1) + name + b"\0") + 2 + len(name) + 1 + skip
    content[place : place + len(value)] = value
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "skip", "value", "said"),
    [
        (b"encoder/layer_0/ffn/linear_0/weight", 1, struct.pack("<I", 2**31), "not as many bytes"),
        (b"encoder/layer_0/ffn/linear_0/weight", 1, struct.pack("<II", 16, 24), "want .24, 16."),
        (b"encoder/layer_0/ffn/linear_0/weight", 0, b"\xff", "cut short|not as many bytes"),
        (b"encoder/layer_0/ffn/linear_0/weight", 9, b"\x09", "not as many bytes"),
        (b"encoder/layer_0/ffn/linear_0/weight", 10, b"\xff\xff\xff\xff", "not as many bytes"),
        (b"encoder/num_heads", 6, b"\0\0", "num_heads' = 0"),
        (b"decoder/num_heads", 6, b"\xff\xff", "num_heads' = -1"),
        (b"decoder/alignment_layer", 6, b"\x09\0", "alignment_layer' = 9"),
        (b"encoder/pre_norm", 6, b"\x07", "pre_norm' = 7"),
        (b"TransformerSpec", 4, b"\xff\xff\xff\xff", "TransformerSpec of 6"),
    ],
)
def test_numbers_in_a_model_file_that_its_settings_do_not_give(plain, name, skip, value, said):
    change(plain, name, skip, value)
    with pytest.raises(ValueError, match=said):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"encoder/layer_1/", b"encoder/layer_7/", "no such tensor"),
        (b"decoder/projection/weight\0", b"decoder/projectiom/weight\0", "stands for"),
        (b"TransformerSpec", b"WhisperSpec\0\0\0\0", "WhisperSpec"),
    ],
)
def test_names_in_a_model_file_that_it_must_not_have(plain, old, new, said):
    file = plain.path / "engine" / "model.bin"
    file.write_bytes(file.read_bytes().replace(old, new))
    with pytest.raises(ValueError, match=said):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


@pytest.mark.parametrize("length", [0, 3, 40, 1000, -1])
def test_a_model_file_cut_short_or_with_more(plain, length):
    file = plain.path / "engine" / "model.bin"
    content = file.read_bytes()
    file.write_bytes(content[:length] if length >= 0 else content + b"x")
    with pytest.raises(ValueError, match=r"cut short|bytes after its end|not as many bytes"):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("shared_vocabulary.json", '["a", "b"]', "other tokens"),
        ("shared_vocabulary.json", "[" * 100_000, "nested too deeply"),
        ("source_vocabulary.json", "{}", "other tokens"),
        ("config.json", "[]", "no JSON object"),
        ("config.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_other_files_of_a_ctranslate2_folder(plain, file, content, said):
    (plain.path / "engine" / file).write_text(content, "utf-8")
    with pytest.raises(ValueError, match=said):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


def test_a_bad_model_file_is_one_sentence_and_torch_answers(plain):
    change(plain, b"encoder/num_heads", 6, b"\0\0")  # CTranslate2 would divide by it
    files = {file.name: file.read_bytes() for file in (plain.path / "engine").iterdir() if file.name != "manifest.json"}
    add_engine(plain.path, "ctranslate2", files)
    assert "not an engine of this model: model.bin" in engine_refused(plain.path, "ctranslate2")
