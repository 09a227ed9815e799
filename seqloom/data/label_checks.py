"""Checks of labels and tags: a closed list, whose members come again and again."""

from collections import Counter

import numpy as np

from seqloom.data.checks import Chunk
from seqloom.data.findings import KEPT, Finding, Report, shorten
from seqloom.text.labels import MOST_LABELS, as_written

FEW = 50  # labels in all: with fewer, each may well be another one
MOST_DIFFERENT = 0.8  # of the labels in all


class Labels:
    """Which labels there are, and on which line each stands first."""

    def __init__(self) -> None:
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


def compare_labels(reports: list[Report], held_out: dict[str, Report]) -> None:
    """Labels of the valid and test files that no training file has: no model can learn to say them."""
    known = {label for report in reports if report.labels for label in report.labels.counts}
    for other in held_out.values():
        unknown = {label: line for label, line in other.labels.first.items() if label not in known} if known else {}
        if unknown:
            advice = "not used in validation, wrong in a test; check the spelling, or train with such lines"
            finding = Finding("unknown label", severity=KEPT, advice=advice)
            for label, line in sorted(unknown.items(), key=lambda entry: entry[1]):
                finding.add(line, shorten(as_written(label)))
            finding.count = sum(other.labels.counts[label] for label in unknown)
            other.findings.append(finding)
