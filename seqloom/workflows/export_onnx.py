"""A model as two ONNX graphs that any runtime can drive, and onnx.json that says how.

encoder.onnx   tokens -> memory, first state               once a sentence
step.onnx      token, memory, state -> log p, next state   once a token
"""

import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import seqloom
from seqloom.config import TASKS
from seqloom.decode.options import SearchOptions
from seqloom.errors import ModelError, UsageError
from seqloom.text.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram

    from seqloom.evaluate.testset import Item
    from seqloom.models.api import Seq2Seq
    from seqloom.runtime.folder import RunFolder

Tell = Callable[[str], None]
PACKAGES = ("onnx", "onnxscript", "onnxruntime")
FORMAT = 1  # of onnx.json
ENCODER, STEP, ABOUT = "encoder.onnx", "step.onnx", "onnx.json"
HOW = [
    "Texts: unicode form `normalise`, cut by the tokenizer beside, where a special token in a text is text.",
    "tokens: the ids of each source, then the id `end`; `pad` behind the shorter ones.",
    "Run the encoder. token: `begin` for every row.",
    "Run the step. An input is fed by the output that `first` names, from the second time on by the one `then` names.",
    "The likeliest id by log_probs that is not in `never` comes next in its row, and is the row's next token.",
    "A row is done with the id `end`, or at the length output_tokens allows for its source, `end` counted in both.",
    "Beams: rows = batch * beams, row r belongs to sentence r // beams. Repeat and reorder state.*, never memory.*.",
]


def export_onnx(run: "RunFolder", out: Path) -> None:
    """Both graphs, onnx.json and the tokenizer, tried on the sentences of golden.json where it is there."""
    check_possible(run)
    from seqloom.runtime.folder import load_model

    model = load_model(run)
    out.mkdir(parents=True, exist_ok=True)
    write_graphs(run, model, out)
    run.tokenizers.save(out)
    if (run.path / "golden.json").is_file():
        check_greedily(run, model, out)


def make_onnx_engine(
    run: "RunFolder", *, int8: bool = False, items: "Sequence[Item] | None" = None, tell: Tell
) -> Path:
    """engine/ of a recurrent model, which `translate` and `serve` then use.

    fp32 must give what golden.json holds; int8 tells its BLEU change on `items`, or on the run's validation pairs.
    """
    check_possible(run)
    import onnxruntime

    from seqloom.runtime.engine_folder import restored_on_failure, write_engine
    from seqloom.runtime.folder import load_model
    from seqloom.workflows.export import check_golden, tell_change
    from seqloom.workflows.quantise_onnx import quantise

    if run.config.model.kind != "rnn":
        raise UsageError(f"{run.path}: the engine of a {run.config.model.kind} is CTranslate2: --format ctranslate2")

    def write(precision: str) -> Path:
        def fill(into: Path) -> None:
            shutil.copytree(traced, into, dirs_exist_ok=True)
            for name in (ENCODER, STEP) if precision == "int8" else ():
                quantise(into / name)

        facts = {"engine": "onnx", "version": onnxruntime.__version__, "precision": precision}
        return write_engine(run, facts, fill)

    with restored_on_failure(run.path), tempfile.TemporaryDirectory() as traced:
        write_graphs(run, load_model(run), Path(traced))
        engine = write("float32")
        check_golden(run.path, engine, "onnx")
        if int8:
            engine = tell_change(run, "int8", lambda: write("int8"), items, tell)
    return engine


def write_graphs(run: "RunFolder", model: "Seq2Seq", into: Path) -> None:
    """Both graphs and onnx.json into a folder that exists."""
    from seqloom.workflows.trace_onnx import trace_graphs

    longest = run.config.data.max_tokens + 1
    encoder, step = trace_graphs(model, longest + SearchOptions().limit(longest))
    encoder.save(into / ENCODER)
    step.save(into / STEP)
    (into / ABOUT).write_text(json.dumps(describe(run, encoder, step), indent=1) + "\n", "utf-8")


def check_possible(run: "RunFolder") -> None:
    task = run.config.task.name
    if task == "language":
        raise UsageError(f"{run.path} has no ONNX form: a language model goes on with a text and reads no source.")
    if TASKS[task][0] != "pairs" and task != "denoise":
        raise UsageError(f"{run.path} has no ONNX form: it is to {task}, and the two graphs are for models that write.")
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise UsageError(f"--format onnx needs {', '.join(missing)}: pip install 'seqloom[onnx]'")


def describe(run: "RunFolder", encoder: "ONNXProgram", step: "ONNXProgram") -> dict[str, Any]:
    limit = SearchOptions().limit
    return {
        "format": FORMAT,
        "seqloom": seqloom.__version__,
        "how": HOW,
        "normalise": run.config.data.normalise,
        "ids": {"pad": PAD, "begin": BOS, "end": EOS, "never": [PAD, BOS]},
        "source_tokens": run.config.data.max_tokens + 1,
        "output_tokens": {"each_source_token": limit(1) - limit(0), "and": limit(0)},
        "encoder": {"file": ENCODER, **describe_graph(encoder)},
        "step": {"file": STEP, **describe_graph(step)},
    }


def describe_graph(program: "ONNXProgram") -> dict[str, Any]:
    graph = program.model.graph
    return {"inputs": [*map(describe_tensor, graph.inputs)], "outputs": [*map(describe_tensor, graph.outputs)]}


def describe_tensor(value: Any) -> dict[str, Any]:
    """Its name, type and axes (a number, or the name of a length that is free), and what feeds it in the step."""
    shape = [axis if isinstance(axis, int) else str(axis.value) for axis in value.shape]
    about = {"name": value.name, "type": value.dtype.numpy().name, "shape": shape}
    if value.is_graph_input() and value.name.startswith("memory."):
        return about | {"first": value.name, "then": value.name}
    if value.is_graph_input() and value.name.startswith("state."):
        return about | {"first": value.name, "then": f"next_{value.name}"}
    return about


def check_greedily(run: "RunFolder", model: "Seq2Seq", out: Path) -> None:
    """Graphs that answer otherwise than the weights do, greedily, are not kept."""
    from seqloom.runtime.engine_torch import TorchEngine
    from seqloom.runtime.inputs import encode_texts
    from seqloom.runtime.onnx_greedy import OnnxGreedy
    from seqloom.runtime.parts import Part
    from seqloom.runtime.requests import Search
    from seqloom.workflows.info import read_golden

    texts = [pair["source"] for pair in read_golden(run.path / "golden.json")]
    encoded = encode_texts(texts, run.tokenizers.source, run.config.data.normalise)
    sources = [ids[: run.config.data.max_tokens] for ids in encoded if ids]
    greedy = Search(SearchOptions(beam=1))
    expected = TorchEngine(model, len(texts)).find(greedy, [Part(ids) for ids in sources])
    decode = run.tokenizers.target.decode
    for ids, (right, *_), got in zip(sources, expected, OnnxGreedy(out).search(sources), strict=True):
        if got.ids != right.ids:
            shutil.rmtree(out)
            raise ModelError(
                f"{out}: taken away again, as {run.tokenizers.source.decode(ids)!r} came out as {decode(got.ids)!r} "
                f"from the graphs and as {decode(right.ids)!r} from the torch engine."
            )
