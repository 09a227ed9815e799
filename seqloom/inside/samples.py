"""Other texts of a model, as subjects: what attention heads do and the axes of states are measured on them.

Those are the sentences that were given, or the held-out texts in the folder of the run, or those in golden.json.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.config import SHAPES, TASKS
from seqloom.data.store import Store
from seqloom.errors import DataError
from seqloom.inside.prepare import prepare
from seqloom.inside.subject import Subject
from seqloom.runtime.folder import GOLDEN, read_golden

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering

MOST = 50  # texts: enough for means, and a second or two of work
Pairs = Iterable[tuple[str, str]]  # texts with outputs


def samples_of(model: "Answering", sentences: Sequence[str] | None = None) -> list[Subject]:
    """The sample texts of a model. Where it writes, it is forced to write the output that is given or that it found."""
    writes = SHAPES[TASKS[model.config.task.name].shape].translates
    pairs: Pairs = with_outputs(model, sentences) if sentences is not None else held_out(model.folder)
    return [
        prepare(model, source, target if writes else None, answer=False) for source, target in pairs if source.strip()
    ]


def with_outputs(model: "Answering", sentences: Sequence[str]) -> Pairs:
    writes = SHAPES[TASKS[model.config.task.name].shape].translates
    return zip(sentences, model.translate(list(sentences)) if writes else sentences, strict=True)


def held_out(folder: Path | None) -> Pairs:
    """The first held-out texts of a run folder; a folder that was copied without its data has golden.json at least."""
    if folder is None:
        return []
    try:
        texts = Store.open(folder / "store", "valid").texts
    except (DataError, OSError):
        texts = []
    if texts:
        return [(pair.source, pair.target) for pair in islice(texts, MOST)]
    golden = folder / GOLDEN
    return [(pair["source"], pair["target"]) for pair in read_golden(golden)] if golden.is_file() else []
