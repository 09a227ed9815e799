"""Report on predicted labels and tags: accuracy and F1 with intervals, scores per label, and confusions.

    precision = tp / (tp + fp)     recall = tp / (tp + fn)     F1 = 2 tp / (2 tp + fp + fn)

A text has one label, or one per word. Intervals always resample whole texts, because the words of one text are not
independent. Macro F1 is the mean over the labels: rare labels count as much as frequent ones.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.config import TASKS
from seqloom.evaluation.render import clip, interval, table
from seqloom.evaluation.report import FEW, Rival
from seqloom.metrics.measures import Measurement, percent
from seqloom.metrics.significance import Estimate, compare, estimate

Answers = Sequence[Sequence[str]]  # for each text its label, or the tags of its words
SIGNATURE = "nrefs:1|case:mixed"
MOST_CELLS = 1 << 24  # limit of texts x labels for the bootstrap of macro F1
MOST_CONFUSED = 8  # labels in the table of confusions
WORST = 5
TITLES = {
    "accuracy": "accuracy (+)",
    "whole_texts": "whole texts right (+)",
    "new_words": "words not seen in training (+)",
    "macro_f1": "macro F1 (+)",
    "loss": "loss (-)",
}
MOST_ROWS = 40  # labels shown


@dataclass(frozen=True)
class LabelRow:
    """Scores of one label, in percent."""

    label: str
    wanted: int  # how often it is the correct label
    said: int  # how often it was predicted
    right: int  # how often both
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Mistake:
    """A wrong prediction with a high probability."""

    line: int
    text: str
    wanted: str
    said: str
    probability: float


@dataclass(frozen=True)
class LabelReport:
    """The results of evaluating a classifier, a tagger or a masked language model."""

    task: str
    scores: dict[str, Estimate]
    texts: int
    places: int  # number of labels to predict
    labels: list[LabelRow]
    confusions: dict[str, dict[str, int]]  # correct -> predicted -> count, for the labels that are confused most
    mistakes: list[Mistake]
    warnings: list[str]
    against: Rival | None = None
    about: dict[str, Any] = dataclasses.field(default_factory=dict)  # further facts: params, speed, ...
    outputs: list[str] = dataclasses.field(default_factory=list)  # one per record of the file; unused ones are empty

    def to_json(self) -> dict[str, Any]:
        """One flat JSON object: the scores by name, then everything else except the outputs."""
        rest = dataclasses.asdict(self)
        del rest["outputs"]
        return rest.pop("scores") | rest.pop("about") | rest

    def render(self) -> str:
        """The report as text."""
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
    """Measure predictions. `new`: for each word, whether it was not in the training data; `rival`: another model."""
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
    """Accuracy and macro F1; for tags also accuracy over whole texts and over new words."""
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
    """100 sum(part) / sum(whole), one row per text."""
    return Measurement(np.column_stack([part, whole]).astype(np.float64), percent, SIGNATURE)


def mean(part: Sequence[Any], whole: Sequence[Any]) -> Measurement:
    """sum(part) / sum(whole), one row per text."""
    table = np.column_stack([part, whole]).astype(np.float64)
    return Measurement(table, lambda sums: float(sums[0] / max(1.0, sums[1])), SIGNATURE)


def measure_macro_f1(wanted: Answers, said: Answers) -> Measurement | None:
    """Macro F1 from the counts of each label in each text (right, said, wanted); None if that table is too large."""
    names = sorted({label for answers in (wanted, said) for row in answers for label in row})
    column = {name: number for number, name in enumerate(names)}
    if len(names) * len(wanted) > MOST_CELLS:
        return None
    rows = np.zeros((len(wanted), 3, len(names)))
    for row, one, other in zip(rows, wanted, said, strict=True):
        for a, b in zip(one, other, strict=True):
            row[0, column[a]] += a == b
            row[1, column[b]] += 1
            row[2, column[a]] += 1
    return Measurement(rows.reshape(len(rows), -1), macro_f1, SIGNATURE)


def macro_f1(sums: NDArray[np.float64]) -> float:
    """Mean of F1 = 2 right / (said + wanted) over the labels that occur, in percent."""
    right, said, wanted = sums.reshape(3, -1)
    used = said + wanted > 0
    return float(100 * np.mean(2 * right[used] / (said + wanted)[used])) if used.any() else 0.0


def rows_of(counts: Counter[tuple[str, str]]) -> list[LabelRow]:
    """One row per label, the most frequent first."""
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
    """Confusion table of the labels with the most mistakes; empty if there are no mistakes."""
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
    """Compare with another model on the same resamples. Labels that only one model predicts count only in its mean."""
    theirs = measure_labels(wanted, said, new)
    return Rival(name, estimate(theirs), compare(measured, theirs))


def doubts(num_texts: int) -> list[str]:
    """Warnings about the evaluation itself."""
    few = f"Only {num_texts} texts: the intervals are rough, and small differences cannot be detected."
    return [few] if num_texts < FEW else []


def render(report: LabelReport) -> str:
    """The whole report as text."""
    blocks = [render_head(report), render_scores(report.scores, report.against)]
    if report.labels:
        blocks.append(render_labels(report.labels))
    if report.confusions:
        blocks.append(render_confusions(report.confusions))
    if report.mistakes:
        blocks.append(render_mistakes(report.mistakes))
    blocks += [f"Note: {warning}" for warning in report.warnings]
    return "\n\n".join(blocks)


def render_head(report: LabelReport) -> str:
    head = f"{report.texts:,} text{'s' * (report.texts != 1)}"
    if report.places != report.texts:
        head += f", {report.places:,} {TASKS[report.task].counted}"
    if "texts_per_second" in report.about:
        head += f", read at {report.about['texts_per_second']:,.1f} texts/s"
    elif "outputs_of" in report.about:
        head += f", labels of {report.about['outputs_of']}"
    return head


def render_scores(scores: dict[str, Estimate], rival: Rival | None) -> str:
    rows = [["", "score", "95 % interval", *([rival.name, "difference", "95 % interval", "p"] if rival else [])]]
    for name, found in scores.items():
        row = [TITLES[name], f"{found.score:.2f}", interval(found)]
        if rival and name in rival.differences:
            difference = rival.differences[name]
            row += [f"{rival.scores[name].score:.2f}", f"{difference.difference:+.2f}", interval(difference)]
            row.append(difference.starred_p)
        rows.append(row)
    return table(rows) + ("\n* significant at 0.05" if rival else "")


def render_labels(labels: list[LabelRow]) -> str:
    rows = [["label", "correct", "predicted", "precision", "recall", "F1"]]
    for row in labels[:MOST_ROWS]:
        scores = [f"{score:.2f}" for score in (row.precision, row.recall, row.f1)]
        rows.append([clip(row.label), f"{row.wanted:,}", f"{row.said:,}", *scores])
    more = len(labels) - MOST_ROWS
    return table(rows) + (f"\nand {more:,} rarer labels (--json lists all)" if more > 0 else "")


def render_confusions(confusions: dict[str, dict[str, int]]) -> str:
    rows = [["correct \\ predicted", *confusions]]
    rows += [
        [wanted, *(f"{number:,}" if number else "." for number in said.values())] for wanted, said in confusions.items()
    ]
    return "Labels confused most often:\n" + table(rows)


def render_mistakes(mistakes: list[Mistake]) -> str:
    lines = ["Wrong predictions with the highest probability:"]
    for found in mistakes:
        lines.append(f"  line {found.line} ({found.probability:.0%}): predicted {found.said}, correct {found.wanted}")
        lines.append(f"    {clip(found.text)}")
    return "\n".join(lines)
