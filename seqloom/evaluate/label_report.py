"""How right labels and tags are: accuracy and F1 with intervals, label by label, and which are taken for which.

    precision = tp / (tp + fp)     recall = tp / (tp + fn)     F1 = 2 tp / (2 tp + fp + fn)

A text has one label, or one a word; what is resampled for an interval is always the text, as the words of one text are
right or wrong together. Macro F1 is the mean over the labels: a rare one weighs as much as a frequent one.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluate.metrics import Measurement, percent
from seqloom.evaluate.report import FEW, Rival
from seqloom.evaluate.significance import Estimate, compare, estimate

Answers = Sequence[Sequence[str]]  # of each text its label, or the tags of its words
SIGNATURE = "nrefs:1|case:mixed"
MOST_CELLS = 1 << 24  # texts x labels that a bootstrap of macro F1 may hold
MOST_CONFUSED = 8  # labels in the table of confusions
WORST = 5


@dataclass(frozen=True)
class LabelRow:
    """One label: how often it is right to say it, how often it was said, and how good that was (in percent)."""

    label: str
    wanted: int
    said: int
    right: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that the model was sure of."""

    line: int
    text: str
    wanted: str
    said: str
    probability: float


@dataclass(frozen=True)
class LabelReport:
    task: str
    scores: dict[str, Estimate]
    texts: int
    places: int  # labels that were wanted
    labels: list[LabelRow]
    confusions: dict[str, dict[str, int]]  # wanted -> said -> how often, of the labels that are confused most
    mistakes: list[Mistake]
    warnings: list[str]
    against: Rival | None = None
    about: dict[str, Any] = dataclasses.field(default_factory=dict)  # what the caller knows: params, speed, ...

    def to_json(self) -> dict[str, Any]:
        """One flat object: the scores by their names, then the rest."""
        rest = dataclasses.asdict(self)
        return rest.pop("scores") | rest.pop("about") | rest

    def render(self) -> str:
        from seqloom.evaluate.label_render import render

        return render(self)


def make_label_report(
    task: str,
    wanted: Answers,
    said: Answers,
    *,
    new: Sequence[Sequence[bool]] | None = None,
    rival: tuple[str, Answers] | None = None,
    mistakes: Sequence[Mistake] = (),
    warnings: Sequence[str] = (),
    about: dict[str, Any] | None = None,
) -> LabelReport:
    """`new`: for each place whether its word is none of the training data's; `rival`: another model and its answers."""
    measured = measure_labels(wanted, said, new)
    counts = Counter(pair for one, other in zip(wanted, said, strict=True) for pair in zip(one, other, strict=True))
    return LabelReport(
        task=task,
        scores=estimate(measured),
        texts=len(wanted),
        places=counts.total(),
        labels=rows_of(counts),
        confusions=most_confused(counts),
        mistakes=sorted(mistakes, key=lambda mistake: -mistake.probability)[:WORST],
        warnings=[*warnings, *doubts(len(wanted))],
        against=compare_with(*rival, measured, wanted, new) if rival else None,
        about=about or {},
    )


def measure_labels(
    wanted: Answers, said: Answers, new: Sequence[Sequence[bool]] | None = None
) -> dict[str, Measurement]:
    """Accuracy, macro F1, and of tags also whole texts and the words that are new."""
    hits = [np.array([a == b for a, b in zip(*both, strict=True)], bool) for both in zip(wanted, said, strict=True)]
    found = {"accuracy": share([hit.sum() for hit in hits], [len(hit) for hit in hits])}
    if any(len(hit) != 1 for hit in hits):
        found["whole_texts"] = share([hit.all() for hit in hits], [1] * len(hits))
    if new is not None and any(map(any, new)):
        masks = [np.array(mask, bool) for mask in new]
        found["new_words"] = share([hit[m].sum() for hit, m in zip(hits, masks, strict=True)], [m.sum() for m in masks])
    if macro := measure_macro_f1(wanted, said):
        found["macro_f1"] = macro
    return found


def share(part: Sequence[Any], whole: Sequence[Any]) -> Measurement:
    """100 sum(part) / sum(whole), a text a row."""
    return Measurement(np.column_stack([part, whole]).astype(np.float64), percent, SIGNATURE)


def mean(part: Sequence[Any], whole: Sequence[Any]) -> Measurement:
    """sum(part) / sum(whole), a text a row."""
    table = np.column_stack([part, whole]).astype(np.float64)
    return Measurement(table, lambda sums: float(sums[0] / max(1.0, sums[1])), SIGNATURE)


def measure_macro_f1(wanted: Answers, said: Answers) -> Measurement | None:
    """A text's row counts each label: right, said, wanted. None where the table would be too large."""
    names = sorted({label for answers in (wanted, said) for row in answers for label in row})
    places = {name: place for place, name in enumerate(names)}
    if len(names) * len(wanted) > MOST_CELLS:
        return None
    rows = np.zeros((len(wanted), 3, len(names)))
    for row, one, other in zip(rows, wanted, said, strict=True):
        for a, b in zip(one, other, strict=True):
            row[0, places[a]] += a == b
            row[1, places[b]] += 1
            row[2, places[a]] += 1
    return Measurement(rows.reshape(len(rows), -1), macro_f1, SIGNATURE)


def macro_f1(sums: NDArray[np.float64]) -> float:
    """The mean of F1 = 2 right / (said + wanted) over the labels that were said or wanted, in percent."""
    right, said, wanted = sums.reshape(3, -1)
    used = said + wanted > 0
    return float(100 * np.mean(2 * right[used] / (said + wanted)[used])) if used.any() else 0.0


def rows_of(counts: Counter[tuple[str, str]]) -> list[LabelRow]:
    """A row a label, the most frequent first."""
    wanted, said = Counter[str](), Counter[str]()
    for (one, other), number in counts.items():
        wanted[one] += number
        said[other] += number
    rows = []
    for label in sorted(wanted | said, key=lambda label: (-wanted[label], label)):
        right = counts[label, label]
        scores = (100 * part / whole if whole else 0.0 for part, whole in (
            (right, said[label]), (right, wanted[label]), (2 * right, said[label] + wanted[label])
        ))  # fmt: skip
        rows.append(LabelRow(label, wanted[label], said[label], right, *scores))
    return rows


def most_confused(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """The table of the few labels that take part in the most mistakes; empty where there is none."""
    faults = Counter[str]()
    for (wanted, said), number in counts.items():
        if wanted != said:
            faults.update({wanted: number, said: number})
    chosen = sorted(label for label, _ in faults.most_common(MOST_CONFUSED))
    return {one: {other: counts[one, other] for other in chosen} for one in chosen}


def compare_with(
    name: str,
    said: Answers,
    measured: dict[str, Measurement],
    wanted: Answers,
    new: Sequence[Sequence[bool]] | None,
) -> Rival:
    """On the same texts, resampled together. Labels that only one of the two says stay out of the other's mean."""
    theirs = measure_labels(wanted, said, new)
    return Rival(name, estimate(theirs), compare(measured, theirs))


def doubts(num_texts: int) -> list[str]:
    few = f"{num_texts} texts are few: the intervals are rough, and no small difference can be shown."
    return [few] if num_texts < FEW else []
