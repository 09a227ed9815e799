"""Checks of labels and tags: a closed list, whose members come again and again."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from seqloom.data.checks import Chunk
from seqloom.data.findings import HARD, KEPT, Finding, Report, shorten
from seqloom.text.labels import MOST_LABELS, as_written

FEW = 50  # labels in all: with fewer, each may well be another one
MOST_DIFFERENT = 0.8  # of the labels in all
MOST_NAMED = 10  # of the labels that are known
UNKNOWN_ADVICE = "not used in validation, wrong in a test; check the spelling, or train with such lines"


class Labels:
    """Which labels there are, and on which line each stands first."""

    def __init__(self, of_texts: bool) -> None:
        self.of_texts = of_texts  # one label a text, and not one a word
        self.counts: Counter[str] = Counter()
        self.first: dict[str, int] = {}

    def add(self, chunk: Chunk) -> None:
        for line, target in zip(chunk.lines, chunk.targets, strict=True):
            for label in target.split():
                if label in self.first or len(self.first) < MOST_LABELS:  # a column of texts must not fill the memory
                    self.first.setdefault(label, line)
                    self.counts[label] += 1

    def findings(self, lines: np.ndarray) -> list[Finding]:
        """A list that is not closed: texts where labels should be."""
        total, different = self.counts.total(), len(self.counts)
        if different < MOST_LABELS and (total < FEW or different <= MOST_DIFFERENT * total):
            return []
        some = ", ".join(shorten(as_written(label), 30) for label in list(self.first)[:3])
        detail = f"{different:,} different ones among {total:,}: {some}, ..."
        return [Finding("labels never repeat", different, detail=detail)]


def find_one_label(reports: list[Report]) -> list[Finding]:
    """All training files together have one label: there is nothing to tell apart. One of them alone may."""
    labels = [report.labels for report in reports if report.labels and report.labels.of_texts]
    known = {label for one in labels for label in one.counts}
    if len(known) != 1:
        return []
    number = sum(one.counts.total() for one in labels)
    return [Finding("one label", number, detail=f"every line has {show_labels(known)}: nothing is to be told apart")]


def compare_labels(reports: list[Report], held_out: dict[str, Report]) -> None:
    """One label in all; and labels of the valid and test files that no training file has: no model learns to say them.

    What is found is added to the reports.
    """
    reports[0].findings += find_one_label(reports)
    known = {label: None for report in reports if report.labels for label in report.labels.counts}
    for name, other in held_out.items():
        unknown = {label: line for label, line in other.labels.first.items() if label not in known} if known else {}
        if unknown:
            all_of_them = len(unknown) == len(other.labels.first)
            severity = HARD if all_of_them and name == "valid" else KEPT  # nothing would be left to validate on
            finding = Finding("unknown label", severity=severity, advice=UNKNOWN_ADVICE)
            finding.detail = "no label of this file is known; " * all_of_them
            finding.detail += f"the training data has: {show_labels(known)}"
            for label, line in sorted(unknown.items(), key=lambda entry: entry[1]):
                finding.add(line, shorten(as_written(label)))
            finding.count = sum(other.labels.counts[label] for label in unknown)
            other.findings.append(finding)


def show_labels(labels: Iterable[str]) -> str:
    shown = [shorten(as_written(label), 30) for label in labels]
    return ", ".join(shown[:MOST_NAMED]) + (", ..." if len(shown) > MOST_NAMED else "")
