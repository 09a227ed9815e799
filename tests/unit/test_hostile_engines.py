"""An ONNX engine from a stranger: its graph is checked part by part before ONNX Runtime reads it."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seqloom.errors import ModelError
from seqloom.runtime import onnx_graph
from seqloom.runtime.engine_folder import read_manifest
from seqloom.runtime.folder import open_run
from seqloom.runtime.onnx_check import OPERATORS, BadGraph, check_graph
from tests.unit.engine_folders import add_engine, engine_refused

GIGABYTE = 2**30


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


def test_what_takes_far_too_long_is_stopped(tmp_path, monkeypatch):
    """No loop and little memory, but 2,000 products of large matrices that the text makes."""
    monkeypatch.setattr(onnx_graph, "RESERVE", 1.5)
    many = numbers("many", *range(3000), kind=np.float32)
    nodes = [
        node("Cast", "tokens", out="t", to=TYPES.FLOAT),
        node("ReduceSum", "t", out="one", keepdims=0),
        node("Add", "many", "one", out="row"),
        node("Unsqueeze", "row", "axis", out="column"),
        node("Add", "row", "column", out="x0"),
        *(node("MatMul", f"x{number}", "x0", out=f"x{number + 1}") for number in range(2000)),  # none can be left out
        node("Identity", "x2000"),
    ]
    file = tmp_path / "encoder.onnx"
    file.write_bytes(model_of(*nodes, weights=(many, numbers("axis", 1))))
    graph = onnx_graph.open_graph(file, threads=1)
    with pytest.raises(ModelError, match="takes far longer than a graph of its size"):
        graph.run({"tokens": np.ones((1, 4), np.int64)})
    assert not onnx_graph.RUNNING


def test_fast_runs_refill_the_reserve(tmp_path):
    file = tmp_path / "encoder.onnx"
    file.write_bytes(model_of(node("Cast", "tokens", to=TYPES.FLOAT)))
    graph = onnx_graph.open_graph(file, threads=1)
    graph.reserve = 1.0
    for _ in range(3):
        graph.run({"tokens": np.ones((500, 500), np.int64)})
    assert 1.0 < graph.reserve <= onnx_graph.RESERVE


def turns(number: int) -> bytes:
    """A large constant that is transposed so many times while the runtime loads."""
    weights = onnx.numpy_helper.from_array(np.ones((100, 100), np.float32), "w0")
    nodes = [node("Transpose", f"w{each}", out=f"w{each + 1}") for each in range(number)]
    return model_of(*nodes, node("Cast", "tokens", out="t", to=TYPES.FLOAT), node("MatMul", "t", f"w{number}"),
                    weights=(weights,))  # fmt: skip


def test_what_a_graph_computes_while_it_loads_is_bounded():
    check_graph(turns(3))
    with pytest.raises(BadGraph, match="rearranged again and again"):
        check_graph(turns(200))
    with pytest.raises(BadGraph, match="nodes, 5,000 are allowed"):
        check_graph(model_of(*(node("Identity", "tokens", out=f"x{each}") for each in range(5001))))


# Folders


def test_a_file_that_the_manifest_does_not_list(folder):
    add_engine(folder, "onnx", {"encoder.onnx": b"x", "step.onnx": b"x"})
    read_manifest(open_run(folder))
    (folder / "engine" / ".DS_Store").write_bytes(b"x")
    read_manifest(open_run(folder))
    (folder / "engine" / "config.json").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"manifest\.json: damaged \(it does not list 'config\.json'"):
        read_manifest(open_run(folder))
