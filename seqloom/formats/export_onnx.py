"""Export to ONNX: two graphs that any ONNX runtime can run, and onnx.json, which describes how to run them.

encoder.onnx   tokens -> memory, first state               once per sentence
step.onnx      token, memory, state -> log p, next state   once per token
"""

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import seqloom
from seqloom.config import SHAPES, TASKS
from seqloom.decode.options import SearchRequest
from seqloom.errors import ModelError, UsageError
from seqloom.files.durable import write_new
from seqloom.files.folders import copy_files, restored_on_failure
from seqloom.files.leftovers import scratch_folder
from seqloom.formats.check_engine import EngineOptions, Tell, check_golden, tell_change
from seqloom.formats.quantise_onnx import quantise
from seqloom.runtime.engine_folder import FOLDER, write_engine
from seqloom.runtime.folder import RunFolder, load_model, read_golden
from seqloom.runtime.inputs import encode_texts
from seqloom.runtime.parts import Part
from seqloom.text.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram

    from seqloom.models.api import Seq2Seq

PACKAGES = ("onnx", "onnxscript", "onnxruntime")
FORMAT = 1  # of onnx.json
ENCODER, STEP, ABOUT = "encoder.onnx", "step.onnx", "onnx.json"
HOW = [
    "Texts: normalise Unicode to the form `normalise`, then encode with the tokenizer in this folder. Special tokens "
    "such as </s> that occur in a text are ordinary characters.",
    "tokens: one row per source: its ids, then the id `end`, then `pad` up to the longest row.",
    "Run the encoder once. The first `token` of every row is `begin`.",
    "Run the step once per output token. In the first step, each input takes the output that `first` names; in later "
    "steps, the one that `then` names.",
    "Greedy search: the next token of a row is the id with the highest log_probs that is not in `never`.",
    "A row ends with the id `end`, or when it reaches the length that output_tokens allows for its source. Both "
    "lengths count `end`.",
    "Beam search: rows = batch * beams; row r belongs to sentence r // beams. Repeat and reorder state.*, never "
    "memory.*.",
]


def export_onnx(run: RunFolder, out: Path) -> None:
    """Write both graphs, onnx.json and the tokenizer; check the graphs on the sentences of golden.json, if any."""
    model = load_model(run)
    write_graphs(run, model, out)
    run.tokenizers.save(out)
    if (run.path / "golden.json").is_file():
        check_greedily(run, model, out)


def make_onnx_engine(run: RunFolder, options: EngineOptions, tell: Tell) -> Path:
    """Write engine/ of a recurrent model, which `translate` and `serve` then use.

    In fp32 it must give the outputs in golden.json; for int8, `tell` reports the change in BLEU.
    """
    check_onnx(run)
    import onnxruntime

    if run.config.model.kind != "rnn":
        raise UsageError(
            f"{run.path}: the engine of a {run.config.model.kind} is CTranslate2: use --format ctranslate2"
        )

    def write(precision: str) -> Path:
        def fill(into: Path) -> None:
            copy_files(traced, into)
            for name in (ENCODER, STEP) if precision == "int8" else ():
                quantise(into / name)

        return write_engine(run, fill, engine="onnx", version=onnxruntime.__version__, precision=precision)

    with restored_on_failure(run.path / FOLDER), scratch_folder() as traced:
        write_graphs(run, load_model(run), traced)
        engine = write("float32")
        check_golden(run.path, engine, "onnx")
        if options.int8:
            engine = tell_change(run, "int8", lambda: write("int8"), options.items, tell)
    return engine


def write_graphs(run: RunFolder, model: "Seq2Seq", into: Path) -> None:
    """Write both graphs and onnx.json into an existing folder."""
    from seqloom.formats.trace_onnx import trace_graphs

    longest = run.config.data.max_tokens + 1
    encoder, step = trace_graphs(model, longest + SearchRequest().limit(longest))
    encoder.save(into / ENCODER)
    step.save(into / STEP)
    write_new(into / ABOUT, json.dumps(describe(run, encoder, step), indent=1) + "\n")


def check_onnx(run: RunFolder) -> None:
    """Refuse a model without an encoder and a decoder; refuse if packages that write graphs are missing."""
    task = run.config.task.name
    shape = SHAPES[TASKS[task].shape]
    if not shape.translates:
        raise UsageError(
            f"{run.path} cannot be exported to ONNX: it was trained for {task!r} and {shape.why_no_translation}; the "
            "two graphs are an encoder and a decoder."
        )
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise UsageError(f"--format onnx needs {', '.join(missing)}: pip install 'seqloom[onnx]'")


def describe(run: RunFolder, encoder: "ONNXProgram", step: "ONNXProgram") -> dict[str, Any]:
    limit = SearchRequest().limit
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
    """Return name, type and axes of a tensor (a number, or the name of a free length), and what feeds it in a step."""
    shape = [axis if isinstance(axis, int) else str(axis.value) for axis in value.shape]
    about = {"name": value.name, "type": value.dtype.numpy().name, "shape": shape}
    if value.is_graph_input() and value.name.startswith("memory."):
        return about | {"first": value.name, "then": value.name}
    if value.is_graph_input() and value.name.startswith("state."):
        return about | {"first": value.name, "then": f"next_{value.name}"}
    return about


def check_greedily(run: RunFolder, model: "Seq2Seq", out: Path) -> None:
    """Refuse graphs whose outputs in greedy search differ from those of the torch engine."""
    from seqloom.formats.onnx_greedy import OnnxGreedy  # needs onnxruntime, which is an extra
    from seqloom.runtime.engine_torch import TorchEngine

    texts = [pair["source"] for pair in read_golden(run.path / "golden.json")]
    encoded = encode_texts(texts, run.tokenizers.source, run.config.data.normalise)
    sources = [ids[: run.config.data.max_tokens] for ids in encoded if ids]
    greedy = SearchRequest(beam=1).filled()
    expected = TorchEngine(model, len(texts)).find(greedy, [Part(ids) for ids in sources])
    decode = run.tokenizers.target.decode
    for ids, (right, *_), got in zip(sources, expected, OnnxGreedy(out).search(sources), strict=True):
        if got.ids != right.ids:
            raise ModelError(
                f"{run.path}: not exported, because the graphs translate {run.tokenizers.source.decode(ids)!r} to "
                f"{decode(got.ids)!r} and the torch engine to {decode(right.ids)!r}."
            )
