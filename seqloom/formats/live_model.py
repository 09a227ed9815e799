"""A model as one JSON document that a page can run: graphs, weights, tokenizers and the rules of the search.

The graphs are those of the ONNX export, traced so that they also give attention weights and gates. The scripts under
seqloom/explain/live run them.
"""

import importlib.util
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seqloom.config import SHAPES, TASKS
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.formats.live_weights import Bits, pack, pack_json
from seqloom.models.stored_shapes import read_shapes
from seqloom.runtime.folder import WEIGHTS, RunFolder, load_model
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import BOS, EOS, PAD, UNK

if TYPE_CHECKING:
    from seqloom.models.api import Seq2Seq

VERSION = 1
PACKAGES = ("onnx", "onnxscript")
MOST_PARAMETERS = 10_000_000  # a page of about 12 MB
MOST_IN_16_BITS = 4_000_000  # larger models are written in 8 bits, so that the page stays small
KINDS = ("bpe", "unigram", "char", "word")  # the tokenizers that the page can apply to a text


class Axes(Protocol):
    """The axes on which states are drawn, and their origin (inside/basis.py)."""

    @property
    def mean(self) -> NDArray[np.float32]: ...
    @property
    def axes(self) -> NDArray[np.float32]: ...


def live_model(run: RunFolder, bits: Bits | None = None, bases: Mapping[str, Axes] | None = None) -> dict[str, Any]:
    """Return the document of a model; 16-bit weights for a small model, 8-bit weights for a larger one.

    `bases`: the axes of the states of encoder and decoder, so that the page can draw those of another text.
    """
    check_live(run)
    parameters = count_parameters(run)
    bits = bits or (16 if parameters <= MOST_IN_16_BITS else 8)
    return {
        "version": VERSION,
        "model": run.path.resolve().name,
        "parameters": parameters,
        "bits": bits,
        **graphs_and_weights(run, load_model(run), bits),
        **rules(run),
        "tokenizers": pack_json(tokenizers(run)),
        "bases": pack_json(
            {name: {"mean": basis.mean.tolist(), "axes": basis.axes.tolist()} for name, basis in (bases or {}).items()}
        ),
    }


def check_live(run: RunFolder) -> None:
    """Refuse a model without a search, one that is too large, and a call without the packages that write graphs."""
    task = run.config.task.name
    shape = SHAPES[TASKS[task].shape]
    if not shape.translates:
        raise UsageError(
            f"{run.path}: --live needs a model that searches for an output; this one was trained for {task!r}: "
            f"{shape.why_no_translation}. Leave out --live."
        )
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise UsageError(f"--live needs {', '.join(missing)}: pip install 'seqloom[onnx]'")
    if (parameters := count_parameters(run)) > MOST_PARAMETERS:
        raise UsageError(
            f"{run.path}: --live puts the model into the page, which is made for at most {MOST_PARAMETERS:,} "
            f"parameters; this model has {parameters:,}. Leave out --live, or use `seqloom serve`."
        )


def count_parameters(run: RunFolder) -> int:
    return sum(math.prod(shape) for shape in read_shapes(run.path / WEIGHTS).values())


def graphs_and_weights(run: RunFolder, model: "Seq2Seq", bits: Bits) -> dict[str, Any]:
    from seqloom.formats.live_graphs import Arrays, graph_as_json  # torch
    from seqloom.formats.trace_onnx import trace_graphs

    longest = run.config.data.max_tokens + 1
    arrays = Arrays()
    programs = trace_graphs(model, longest + SearchRequest().limit(longest), recording=True)
    encoder, step = (graph_as_json(program, arrays) for program in programs)
    return {"encoder": encoder, "step": step, "weights": pack(arrays.kept, bits)}


def rules(run: RunFolder) -> dict[str, Any]:
    """Return what the search needs to know: special ids, limits, and the model's own search settings."""
    limit = SearchRequest().limit
    own = run.config.decode
    return {
        "ids": {"pad": PAD, "begin": BOS, "end": EOS, "unknown": UNK},
        "source_tokens": run.config.data.max_tokens,
        "output_tokens": {"each_source_token": limit(1) - limit(0), "and": limit(0)},
        "search": {
            "beam": own.beam,
            "length_penalty": own.length_penalty,
            "coverage_penalty": own.coverage_penalty,
            "min_length": own.min_length,
            "no_repeat_ngram": own.no_repeat_ngram,
        },
        "normalise": run.config.data.normalise,
    }


def tokenizers(run: RunFolder) -> dict[str, Any]:
    """Return both tokenizers; the target is null if it is the source's."""
    source, target = run.tokenizers.source, run.tokenizers.target
    return {"source": vocabulary(source), "target": None if target is source else vocabulary(target)}


def vocabulary(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the tokens by id, as people read them and as the tokenizer spells them, and the rules to make them."""
    found: dict[str, Any] = {"kind": tokenizer.kind, "pieces": tokenizer.pieces(range(len(tokenizer)))}
    if tokenizer.kind not in KINDS:  # imported with its model: the page shows its pieces, and cuts no text
        return found
    found["tokens"] = tokenizer.tokens()
    model = json.loads(tokenizer.content)["model"]
    if tokenizer.kind == "bpe":
        found["merges"] = model["merges"]
    if tokenizer.kind == "unigram":
        found["scores"] = [score for _, score in model["vocab"]]
    return found
