"""Evaluates classifiers and taggers: predicts the labels of a test file and counts, if asked against another model."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.config import TASKS, DataConfig
from seqloom.data.corpus import CorpusSpec, Pair, ReadAs
from seqloom.data.findings import MAX_LOSS, Finding
from seqloom.data.store import Store
from seqloom.errors import DataError, UsageError
from seqloom.evaluation.label_report import LabelReport, Mistake, make_label_report
from seqloom.evaluation.records import Records, read_records
from seqloom.evaluation.seen_in_training import count_seen, seen_warning
from seqloom.runtime.answering import Answering
from seqloom.runtime.folder import read_config
from seqloom.runtime.labeller import Labeller
from seqloom.text.labels import as_written
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import UNK

Say = Callable[[str], None]
ROWS_AT_ONCE = 4096


def evaluate_labels(
    folder: Path,
    pairs: str,
    *,
    columns: str | ReadAs | None = None,
    against: Path | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> LabelReport:
    """Report on the model in `folder`; calls `say` with what was left out."""
    labeller = Labeller.load(folder, threads)
    task = labeller.config.task.name
    spec = CorpusSpec.parse(pairs, columns, form=TASKS[task].form)
    records = read_records(spec, labeller.config.data, allow_loss, say)
    rows = records.pairs
    wanted = [labels_of(row.target, labeller.tags_words) for row in rows]
    tell_unknown(spec, rows, wanted, labeller, allow_loss, say)
    texts = [row.source for row in rows]
    start = time.perf_counter()
    found = labeller.probabilities(texts)
    seconds = time.perf_counter() - start
    said = [names_of(one, labeller) for one in found]
    seen, warnings = tell_seen(folder, labeller, texts)
    report = make_label_report(
        task,
        wanted,
        said,
        new=find_new_words(folder, labeller.tokenizers.source, texts) if labeller.tags_words else None,
        rival=(str(against), ask_rival(against, task, records, threads)) if against is not None else None,
        mistakes=[] if labeller.tags_words else find_mistakes(rows, wanted, said, found),
        warnings=warnings,
        about=describe(labeller, len(texts), seconds)
        | {"model": str(folder), "pairs": pairs, "excluded": records.excluded, "seen_in_training": seen},
    )
    return dataclasses.replace(report, outputs=records.beside([" ".join(labels) for labels in said]))


def evaluate_written_labels(
    file: Path,
    pairs: str,
    *,
    task: str,
    columns: str | ReadAs | None = None,
    against: Path | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> LabelReport:
    """Report on the labels of another system: a file with one line per record."""
    records = read_records(CorpusSpec.parse(pairs, columns, form=TASKS[task].form), DataConfig(), allow_loss, say)
    tags = TASKS[task].shape == "tags"
    return make_label_report(
        task,
        [labels_of(row.target, tags) for row in records.pairs],
        read_labels(file, records, tags),
        rival=(str(against), ask_rival(against, task, records, threads)) if against is not None else None,
        about={"outputs_of": str(file), "pairs": pairs, "excluded": records.excluded},
    )


def read_labels(file: Path, records: Records, tags: bool) -> list[list[str]]:
    """The labels for each record from a file; a line of tags must have one per word."""
    found = [labels_of(line, tags) for line in records.read_beside(file)]
    for place, row, labels in zip(records.places, records.pairs, found, strict=True):
        if tags and len(labels) != (words := len(row.target.split())):
            raise DataError(
                f"{file}, line {place + 1}: {len(labels)} tags for the {words} words of {records.name}, "
                f"line {row.line}: want one tag per word"
            )
    return found


def labels_of(target: str, tags: bool) -> list[str]:
    return target.split() if tags else [as_written(target)]


def names_of(found: np.ndarray[Any, Any], labeller: Labeller) -> list[str]:
    best = found.argmax(-1)
    return [labeller.labels[label] for label in (best if labeller.tags_words else [best])]


def tell_unknown(
    spec: CorpusSpec,
    rows: Sequence[Pair],
    wanted: list[list[str]],
    labeller: Labeller,
    allow_loss: bool,
    say: Say,
) -> None:
    """Report labels that the model does not know, which count as wrong; refuse the file if there are many of them."""
    known = set(labeller.labels)
    finding = Finding("unknown label", severity="kept", advice="the model cannot predict it, so it counts as wrong")
    for row, labels in zip(rows, wanted, strict=True):
        if missing := [label for label in dict.fromkeys(labels) if label not in known]:
            finding.add(row.line, ", ".join(missing)[:60])
    if finding.count > MAX_LOSS * len(rows) and not allow_loss:
        shown = ", ".join(labeller.labels[:10]) + (", ..." if len(known) > 10 else "")
        raise DataError(
            f"{spec.name}: {finding.count:,} of {len(rows):,} lines have a label that the model does not know.\n"
            f"{finding.render()}\nIt knows: {shown}. Is this the right file? If so, give --allow-loss."
        )
    if finding.count:
        say(f"{spec.name}:\n{finding.render()}")


def ask_rival(folder: Path, task: str, records: Records, threads: int | None) -> list[list[str]]:
    if folder.is_file():
        return read_labels(folder, records, TASKS[task].shape == "tags")
    if (other := read_config(folder).task.name) != task:
        raise UsageError(f"--against {folder}: trained for {other!r}; compare with a model trained for {task!r}")
    rival = Labeller.load(folder, threads)
    return [names_of(one, rival) for one in rival.probabilities([row.source for row in records.pairs])]


def find_mistakes(
    rows: Sequence[Pair], wanted: list[list[str]], said: list[list[str]], found: Sequence[Any]
) -> "list[Mistake]":
    return [
        Mistake(row.line, row.source, right[0], answer[0], float(one.max()))
        for row, right, answer, one in zip(rows, wanted, said, found, strict=True)
        if right != answer
    ]


def find_new_words(folder: Path, tokenizer: Tokenizer, texts: list[str]) -> list[list[bool]] | None:
    """For each word of each text, whether it is not in the training data, as far as the tokenizer distinguishes words.

    None if that is unknown: the token store was deleted, or has words that are not in the vocabulary.
    """
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
    spelled = map(tokenizer.decode, tokenizer.encode_batch(words))  # spelled as in the store, perhaps in lower case
    old = {word for word, text in zip(words, spelled, strict=True) if text and known.issuperset(text.split())}
    return [[word not in old for word in text.split()] for text in texts]


def tell_seen(folder: Path, reader: Answering, texts: list[str]) -> tuple[int | None, list[str]]:
    """The number of texts that are in the training data, and a warning about them."""
    seen = count_seen(folder, reader.tokenizers.source.encode_batch(texts))
    return seen, seen_warning(seen, len(texts))


def describe(reader: Answering, num_texts: int, seconds: float) -> dict[str, Any]:
    facts = {name: reader.facts.get(name) for name in ("params", "step", "data_hash")}
    return facts | {"texts_per_second": num_texts / max(seconds, 1e-9), "read_seconds": seconds}
