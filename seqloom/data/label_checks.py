"""Checks of labels and tags: a closed list, whose members occur again and again."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from seqloom.data.checks import Chunk
from seqloom.data.findings import HARD, KEPT, Finding, Report, shorten
from seqloom.text.labels import MOST_LABELS, as_written

FEW = 50  # labels in total: with fewer, all may be different
MOST_DIFFERENT = 0.5  # share of different labels
EXCHANGED = 4  # times as many different labels as texts, and as long: the columns are exchanged
MOST_NAMED = 10  # labels shown in a message
UNKNOWN_ADVICE = (
    "validation leaves these lines out, a test counts them as wrong; check the spelling, or train with such lines"
)


class Labels:
    """Collects the labels, how often each occurs, and on which line it is first."""

    def __init__(self, of_texts: bool) -> None:
        self.of_texts = of_texts  # one label per text, not one per word
        self.counts: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        self.texts: set[int] = set()  # the hashes of the texts
        self.letters = [0, 0]  # of texts and labels

    def add(self, chunk: Chunk) -> None:
        if len(self.texts) < MOST_LABELS:
            self.texts.update(map(hash, chunk.sources))
            for side, texts in enumerate((chunk.sources, chunk.targets)):
                self.letters[side] += sum(map(len, texts))
        for line, target in zip(chunk.lines, chunk.targets, strict=True):
            for label in target.split():
                if label in self.first or len(self.first) < MOST_LABELS:  # a column of texts must not fill the memory
                    self.first.setdefault(label, line)
                    self.counts[label] += 1

    def findings(self, lines: np.ndarray) -> list[Finding]:
        """Report texts where labels should be: a list that is not closed."""
        total, different = self.counts.total(), len(self.counts)
        exchanged = self.of_texts and self.letters[1] > self.letters[0] and different >= EXCHANGED * len(self.texts)
        if different < MOST_LABELS and (total < FEW or (not exchanged and different <= MOST_DIFFERENT * total)):
            return []
        some = ", ".join(shorten(as_written(label), 30) for label in list(self.first)[:3])
        detail = f"{different:,} different ones among {total:,}: {some}, ..."
        finding = Finding("labels never repeat", different, detail=detail)
        words = "the columns look exchanged" if exchanged else "if the columns are exchanged"
        finding.advice = finding.advice.replace("{exchanged}", words)
        return [finding]


def find_one_label(reports: list[Report]) -> list[Finding]:
    """Report that all training files together have only one label; a single file may."""
    labels = [report.labels for report in reports if report.labels and report.labels.of_texts]
    known = {label for one in labels for label in one.counts}
    if len(known) != 1:
        return []
    number = sum(one.counts.total() for one in labels)
    return [Finding("one label", number, detail=f"every line has {show_labels(known)}: nothing to distinguish")]


def compare_labels(reports: list[Report], held_out: dict[str, Report]) -> None:
    """Add to the reports: only one label in all files, and labels of valid and test files that training never sees."""
    reports[0].findings += find_one_label(reports)
    known = {label: None for report in reports if report.labels for label in report.labels.counts}
    for name, other in held_out.items():
        unknown = {label: line for label, line in other.labels.first.items() if label not in known} if known else {}
        if unknown:
            all_of_them = len(unknown) == len(other.labels.first)
            severity = HARD if all_of_them and name == "valid" else KEPT  # nothing would be left to validate on
            finding = Finding("unknown label", severity=severity, advice=UNKNOWN_ADVICE)
            finding.detail = "no label of this file is in the training data; " * all_of_them
            finding.detail += f"the training data has: {show_labels(known)}"
            for label, line in sorted(unknown.items(), key=lambda entry: entry[1]):
                finding.add(line, shorten(as_written(label)))
            finding.count = sum(other.labels.counts[label] for label in unknown)
            other.findings.append(finding)


def show_labels(labels: Iterable[str]) -> str:
    shown = [shorten(as_written(label), 30) for label in labels]
    return ", ".join(shown[:MOST_NAMED]) + (", ..." if len(shown) > MOST_NAMED else "")
