"""Seqloom trains, measures and serves sequence-to-sequence models. This is its Python API.

    seqloom.load().translate("They are watching.")                # the bundled model, English to French
    seqloom.train("pairs.tsv", out="runs/x")
    seqloom.load("runs/x").translate("a sentence")
    seqloom.evaluate("runs/x", "test.tsv").scores["bleu"].score

Every name of `__all__` is loaded when it is first used, so that `import seqloom` waits for neither torch nor numpy.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.errors import DataError, Interrupted, InUse, ModelError, SeqloomError, TrainingError, UsageError

if TYPE_CHECKING:
    from seqloom.evaluation.report import Report
    from seqloom.runtime.answering import Answering
    from seqloom.runtime.gap_filler import GapFiller
    from seqloom.runtime.generator import Generator
    from seqloom.runtime.labeller import Labeller
    from seqloom.runtime.parts import Translation
    from seqloom.runtime.scoring import Score
    from seqloom.runtime.sentence_vectors import SentenceVectors
    from seqloom.runtime.translator import Translator
    from seqloom.runtime.word_alignment import align_words
    from seqloom.vectors.bag import BagOfWords
    from seqloom.vectors.word_vectors import WordVectors
    from seqloom.workflows.doctor import Checkup
    from seqloom.workflows.train import Trained, train

__version__ = "0.2.0"
__all__ = [
    "BagOfWords",
    "Checkup",
    "DataError",
    "GapFiller",
    "Generator",
    "InUse",
    "Interrupted",
    "Labeller",
    "ModelError",
    "Report",
    "Score",
    "SentenceVectors",
    "SeqloomError",
    "Trained",
    "TrainingError",
    "Translation",
    "Translator",
    "UsageError",
    "WordVectors",
    "__version__",
    "align_words",
    "doctor",
    "evaluate",
    "export",
    "load",
    "load_vectors",
    "score",
    "train",
]

# Public names that are defined elsewhere: what is not a function below is loaded from here.
LAZY = {
    "BagOfWords": "seqloom.vectors.bag",
    "Checkup": "seqloom.workflows.doctor",
    "GapFiller": "seqloom.runtime.gap_filler",
    "Generator": "seqloom.runtime.generator",
    "Labeller": "seqloom.runtime.labeller",
    "Report": "seqloom.evaluation.report",
    "Score": "seqloom.runtime.scoring",
    "SentenceVectors": "seqloom.runtime.sentence_vectors",
    "Trained": "seqloom.workflows.train",
    "Translation": "seqloom.runtime.parts",
    "Translator": "seqloom.runtime.translator",
    "WordVectors": "seqloom.vectors.word_vectors",
    "align_words": "seqloom.runtime.word_alignment",
    "train": "seqloom.workflows.train",
}


def as_path(given: Any, name: str) -> Path:
    """A path from what Python code gave; UsageError for anything else, such as a loaded model."""
    if isinstance(given, (str, os.PathLike)):
        return Path(given)
    raise UsageError(f"{name}: want the path of a model folder, got {type(given).__name__}")


def load(folder: str | Path = "en-fr", threads: int | None = None, device: str = "cpu") -> "Answering":
    """Load the model in a run folder, or a bundled model by its name (`seqloom models` lists them).

    The task of the model decides what you get: a Translator, a Labeller (classify, tag), a GapFiller (masked) or a
    Generator (language). All of them have `translate`.
    """
    from seqloom.runtime.answering import load_answering

    return load_answering([as_path(folder, "folder")], threads, device=device)


def evaluate(
    folder: str | Path,
    pairs: str | Path | Iterable[Any],
    *,
    against: str | Path | None = None,
    outputs: str | Path | None = None,
    task: str | None = None,
    others: Sequence[str | Path] = (),
    columns: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    quiet: bool = False,
    **search: Any,
) -> "Report":
    """Measure the model in `folder`, or a file with the outputs of any system, on pairs the model has not seen.

    pairs: the name of a file, a list or an iterator of (source, target), or a pandas DataFrame.
    against: another model folder or file of outputs to compare with, by paired significance tests. outputs: a file to
    write the outputs to, one line per record; `Report.outputs` has them too. task: what a file of outputs is for.
    others: models that answer together with this one, as an ensemble. columns: which columns hold source, target and
    further references. allow_loss: continue when more than 5 % of the lines cannot be used. quiet: print no notices to
    standard error. search: the options of `seqloom evaluate` (beam, length_penalty, coverage_penalty, min_length,
    no_repeat_ngram, mbr); with against_ before its name, such as against_beam, an option holds for the other side,
    which is the same model if `against` is left out.

    Models that write text give a `Report`; the reports of other tasks have `to_json` and `render` too.
    """
    from seqloom.decode.options import SearchRequest
    from seqloom.workflows.evaluate import evaluate as measure

    rival = {name: search.pop(name) for name in list(search) if name.startswith("against_")}
    return measure(
        [as_path(folder, "folder"), *(as_path(other, "others") for other in others)],
        pairs,
        SearchRequest.of(**search),
        columns=read_as(columns, delimiter, encoding),
        against=Path(against) if against is not None else None,
        against_request=SearchRequest.of(**{name.removeprefix("against_"): rival[name] for name in rival}),
        task=task,
        outputs=Path(outputs) if outputs is not None else None,
        threads=threads,
        allow_loss=allow_loss,
        say=speaker(quiet),
    )


def score(
    model: "str | Path | Translator",
    sources: Any,
    targets: Sequence[str] | None = None,
    *,
    columns: str | None = None,
    threads: int | None = None,
) -> "list[Score | None]":
    """Compute how probable a model finds given targets: log p(y | x), token by token.

    sources, targets: two lists of texts; or, without `targets`, pairs: the name of a file, a list or an iterator of
    (source, target), or a pandas DataFrame, whose `columns` may be named. model: a folder or a loaded Translator. The
    result has one entry per pair, in order; it is None, with a warning, where a source is empty or a text is longer
    than the model can take.
    """
    from seqloom.runtime.scoring import score_pairs
    from seqloom.runtime.translator import Translator

    translator = (
        model if isinstance(model, Translator) else Translator.load(as_path(model, "model"), threads, engine="torch")
    )
    if targets is None:
        from seqloom.workflows.given_pairs import sides_of

        sources, targets = sides_of(sources, read_as(columns), translator.config.data)
    return score_pairs(translator, sources, targets)


def doctor(
    pairs: str | Path | Iterable[Any],
    *,
    valid: str | Path | Iterable[Any] | None = None,
    test: str | Path | Iterable[Any] | None = None,
    columns: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    task: str = "translate",
    allow_loss: bool = False,
    max_chars: int | None = None,
    fix: str | Path | None = None,
) -> "Checkup":
    """Check data before training: broken lines, duplicates, overlap with `valid` and `test`, and more.

    pairs, valid, test: the name of a file, a list or an iterator of (source, target), or a pandas DataFrame. columns,
    delimiter, encoding: how files are read. task: what the data is for. fix: a file to write the clean pairs to.
    allow_loss: do not treat more than 5 % of unusable lines as a hard fault. max_chars: the longest line.
    `Checkup.hard` says whether training would be refused.
    """
    from seqloom.workflows.doctor import doctor as examine

    return examine(
        [pairs],
        valid,
        test,
        read_as(columns, delimiter, encoding),
        allow_loss,
        max_chars,
        Path(fix) if fix is not None else None,
        task,
    )


def export(
    folder: str | Path,
    format: str,
    out: str | Path | None = None,
    *,
    int8: bool = False,
    shortlist: int = 0,
    data: str | Path | Iterable[Any] | None = None,
    quiet: bool = False,
) -> Path:
    """Write a model in another format ("compact", "ctranslate2", "hf", "onnx"); return the folder that was written.

    Without `out` that is the fast engine inside the model folder, which `load` then uses. int8: 8-bit weights.
    shortlist: CTranslate2 may write only the N likeliest translations of each source token. data: pairs to measure
    the loss of quality on. quiet: print no notices to standard error.
    """
    from seqloom.workflows.export import export as write

    return write(
        Path(folder),
        format,
        Path(out) if out is not None else None,
        int8=int8,
        data=data,
        shortlist=shortlist,
        tell=speaker(quiet),
    )


def load_vectors(file: str | Path, *, side: str | None = None) -> "WordVectors":
    """Load word vectors: a word2vec or GloVe file, a folder of `seqloom vectors train`, or the table of a model folder.

    side: "source" or "target", for a model with one embedding table per side ["source"]. The words of a model are its
    tokens; ##x is a piece that does not begin a word.
    """
    from seqloom.vectors.files import load_vectors as read

    return read(Path(file), warnings.warn, side)


def read_as(columns: str | None, delimiter: str | None = None, encoding: str | None = None) -> Any:
    """How files are read."""
    from seqloom.data.read_as import ReadAs

    return ReadAs(columns, delimiter, encoding)


def speaker(quiet: bool) -> Callable[[str], None]:
    """Where notices go: to standard error, or nowhere."""
    return (lambda text: None) if quiet else partial(print, file=sys.stderr, flush=True)


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(LAZY[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
