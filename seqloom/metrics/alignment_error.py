"""Alignment error rate: compares word alignments with a gold alignment made by people (Och and Ney 2003).

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|),   precision = |A & P| / |A|,   recall = |A & S| / |S|

A are the links of the system, S the sure links of the gold, P its sure and possible links. Gold files write `i-j` for a
sure and `ipj` for a possible link of source word i and target word j, counted from 1; everywhere else words are counted
from 0.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seqloom.errors import DataError
from seqloom.metrics.measures import Measurement, Sums

Link = tuple[int, int]  # source word, target word, from 0
LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
SIGNATURE = "gold:sure+possible|words:spaces"


@dataclass(frozen=True)
class Gold:
    """Gold alignment of one pair; sure links are also in `possible`."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def parse_gold(lines: Iterable[str], name: str) -> list[Gold]:
    """One Gold per line; an empty line is a pair without links. DataError with the line for anything but links."""
    return [parse_line(text, f"{name}, line {line}") for line, text in enumerate(lines, 1)]


def parse_line(text: str, where: str) -> Gold:
    sure, possible = set(), set()
    for word in text.split():
        match = LINK.fullmatch(word)
        if match is None:
            raise DataError(
                f"{where}: {word[:40]!r} is not a link: want i-j (sure) or ipj (possible), words counted from 1."
            )
        link = int(match[1]) - 1, int(match[3]) - 1
        if min(link) < 0:
            raise DataError(
                f"{where}: {word!r}: words of a gold alignment are counted from 1; this file counts from 0."
            )
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def check_gold(gold: Gold, num_source_words: int, num_target_words: int, where: str) -> None:
    """DataError for a link to a word that the pair does not have: the gold belongs to other pairs or other words."""
    for side, words, number in (("source", 0, num_source_words), ("target", 1, num_target_words)):
        last = max((link[words] for link in gold.possible), default=-1)
        if last >= number:
            raise DataError(
                f"{where}: a link to {side} word {last + 1}, but the {side} of this pair has {number} words, split at "
                "spaces. Give the gold file of exactly these pairs."
            )


def measure_alignments(found: Sequence[Collection[Link]], golds: Sequence[Gold]) -> dict[str, Measurement]:
    """AER, precision and recall in percent, from counts per sentence: |A & S|, |A & P|, |A|, |S|."""
    rows = []
    for links, gold in zip(found, golds, strict=True):
        A = set(links)
        rows.append((len(A & gold.sure), len(A & gold.possible), len(A), len(gold.sure)))
    counts = np.array(rows, dtype=np.float64).reshape(-1, 4)
    formulas = {"aer": error_rate, "precision": precision, "recall": recall}
    return {name: Measurement(counts, formula, SIGNATURE) for name, formula in formulas.items()}


def error_rate(sums: Sums) -> float:
    """AER in percent; 0 if there are no links at all."""
    in_sure, in_possible, links, sure = map(float, sums)
    return 100 * (1 - (in_sure + in_possible) / (links + sure)) if links + sure else 0.0


def precision(sums: Sums) -> float:
    """Precision in percent; 100 if the system has no links, because none of them is wrong."""
    return 100 * float(sums[1]) / float(sums[2]) if sums[2] else 100.0


def recall(sums: Sums) -> float:
    """Recall in percent; 100 if the gold has no sure links."""
    return 100 * float(sums[0]) / float(sums[3]) if sums[3] else 100.0
