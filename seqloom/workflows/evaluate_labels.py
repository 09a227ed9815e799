"""Measure a classifier or a tagger: read what is wanted, let it answer, count; perhaps against another model."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import TASKS
from seqloom.errors import DataError, UsageError
from seqloom.workflows.evaluated_pairs import read_pairs
from seqloom.workflows.seen import count_seen, seen_warning

if TYPE_CHECKING:
    import numpy as np

    from seqloom.data.corpus import CorpusSpec, Pair
    from seqloom.evaluate.label_report import LabelReport, Mistake
    from seqloom.runtime.answering import Answering
    from seqloom.runtime.labeller import Labeller
    from seqloom.text.tokenizer import Tokenizer

Say = Callable[[str], None]
ROWS_AT_ONCE = 4096


def evaluate_labels(
    folder: Path,
    pairs: str,
    *,
    columns: str | None = None,
    against: Path | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> "LabelReport":
    """The report on the model in `folder`; `say` is told what was left out."""
    from seqloom.data.corpus import CorpusSpec
    from seqloom.evaluate.label_report import make_label_report
    from seqloom.runtime.labeller import Labeller

    labeller = Labeller.load(folder, threads)
    task = labeller.config.task.name
    spec = CorpusSpec.parse(pairs, columns, form=TASKS[task][0])
    rows, excluded = read_pairs(spec, labeller.config.data, allow_loss, say)
    wanted = [labels_of(row.target, labeller) for row in rows]
    tell_unknown(spec, rows, wanted, labeller, allow_loss, say)
    texts = [row.source for row in rows]
    start = time.perf_counter()
    found = labeller.probabilities(texts)
    seconds = time.perf_counter() - start
    said = [names_of(one, labeller) for one in found]
    seen, warnings = tell_seen(folder, labeller, texts)
    return make_label_report(
        task,
        wanted,
        said,
        new=find_new_words(folder, labeller.tokenizers.source, texts) if labeller.tags_words else None,
        rival=(str(against), ask_rival(against, task, texts, threads)) if against is not None else None,
        mistakes=[] if labeller.tags_words else find_mistakes(rows, wanted, said, found),
        warnings=warnings,
        about=describe(labeller, len(texts), seconds)
        | {"model": str(folder), "pairs": pairs, "excluded": excluded, "seen_in_training": seen},
    )


def labels_of(target: str, labeller: "Labeller") -> list[str]:
    from seqloom.text.labels import as_written

    return target.split() if labeller.tags_words else [as_written(target)]


def names_of(found: "np.ndarray[Any, Any]", labeller: "Labeller") -> list[str]:
    best = found.argmax(-1)
    return [labeller.labels[label] for label in (best if labeller.tags_words else [best])]


def tell_unknown(
    spec: "CorpusSpec",
    rows: "Sequence[Pair]",
    wanted: list[list[str]],
    labeller: "Labeller",
    allow_loss: bool,
    say: Say,
) -> None:
    """A label that the model cannot say counts as wrong: leaving it out would flatter. Many of them are a mix-up."""
    from seqloom.data.findings import MAX_LOSS, Finding

    known = set(labeller.labels)
    finding = Finding("unknown label", severity="kept", advice="the model cannot say it, so it counts as wrong")
    for row, labels in zip(rows, wanted, strict=True):
        if missing := [label for label in dict.fromkeys(labels) if label not in known]:
            finding.add(row.line, ", ".join(missing)[:60])
    if finding.count > MAX_LOSS * len(rows) and not allow_loss:
        shown = ", ".join(labeller.labels[:10]) + (", ..." if len(known) > 10 else "")
        raise DataError(
            f"{spec.name}: {finding.count:,} of {len(rows):,} lines want a label that the model does not know.\n"
            f"{finding.render()}\nIt knows: {shown}. Is this the right file? If so, --allow-loss goes on."
        )
    if finding.count:
        say(f"{spec.name}:\n{finding.render()}")


def ask_rival(folder: Path, task: str, texts: list[str], threads: int | None) -> list[list[str]]:
    from seqloom.runtime.folder import read_config
    from seqloom.runtime.labeller import Labeller

    if (other := read_config(folder).task.name) != task:
        raise UsageError(f"--against {folder}: a model to {other}; want one to {task}")
    rival = Labeller.load(folder, threads)
    return [names_of(one, rival) for one in rival.probabilities(texts)]


def find_mistakes(
    rows: "Sequence[Pair]", wanted: list[list[str]], said: list[list[str]], found: Sequence[Any]
) -> "list[Mistake]":
    from seqloom.evaluate.label_report import Mistake

    return [
        Mistake(row.line, row.source, right[0], answer[0], float(one.max()))
        for row, right, answer, one in zip(rows, wanted, said, found, strict=True)
        if right != answer
    ]


def find_new_words(folder: Path, tokenizer: "Tokenizer", texts: list[str]) -> list[list[bool]] | None:
    """For each word of each text whether the training data lacks it, as far as the tokenizer tells words apart.

    None when nobody can tell: the token store is gone, or it has words that the vocabulary lacks.
    """
    import numpy as np

    from seqloom.data.store import Store
    from seqloom.text.vocabulary import UNK

    try:
        store = Store.open(folder / "store")
    except (DataError, OSError):
        return None
    known: set[str] = set()
    for start in range(0, len(store), ROWS_AT_ONCE):
        ids, lengths = store.take("source", np.arange(start, min(start + ROWS_AT_ONCE, len(store))))
        if (ids == UNK).any():
            return None
        for row in np.split(ids, np.cumsum(lengths)[:-1]):
            known.update(tokenizer.decode(row.tolist()).split())
    words = sorted({word for text in texts for word in text.split()})
    spelled = map(tokenizer.decode, tokenizer.encode_batch(words))  # as the store spells them: perhaps in lower case
    old = {word for word, text in zip(words, spelled, strict=True) if text and known.issuperset(text.split())}
    return [[word not in old for word in text.split()] for text in texts]


def tell_seen(folder: Path, reader: "Answering", texts: list[str]) -> tuple[int | None, list[str]]:
    """How many of the texts the model was trained on, and what that means."""
    seen = count_seen(folder, reader.tokenizers.source.encode_batch(texts))
    return seen, seen_warning(seen, len(texts))


def describe(reader: "Answering", num_texts: int, seconds: float) -> dict[str, Any]:
    facts = {name: reader.facts.get(name) for name in ("params", "step", "data_hash")}
    return facts | {"texts_per_second": num_texts / max(seconds, 1e-9), "read_seconds": seconds}
