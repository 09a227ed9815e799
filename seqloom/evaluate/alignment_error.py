"""How far word alignments are from those that people made (Och and Ney 2003).

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|),   precision = |A & P| / |A|,   recall = |A & S| / |S|

A are the links to judge, S the sure ones of the gold, P the sure and the possible ones. Gold files write `i-j` for a
sure and `ipj` for a possible link, source word i and target word j counted from 1; everywhere else words count from 0.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seqloom.errors import DataError
from seqloom.evaluate.metrics import Measurement, Sums

Link = tuple[int, int]  # source word, target word, from 0
LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
SIGNATURE = "gold:sure+possible|words:spaces"


@dataclass(frozen=True)
class Gold:
    """The gold of one pair; what is sure is possible too."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def parse_gold(lines: Iterable[str], name: str) -> list[Gold]:
    """One Gold a line; an empty line is a pair without links. DataError with the line for what is no link."""
    return [parse_line(text, f"{name}, line {line}") for line, text in enumerate(lines, 1)]


def parse_line(text: str, where: str) -> Gold:
    sure, possible = set(), set()
    for word in text.split():
        match = LINK.fullmatch(word)
        if match is None:
            raise DataError(f"{where}: {word[:40]!r} is no link: want i-j (sure) or ipj (possible), words from 1.")
        link = int(match[1]) - 1, int(match[3]) - 1
        if min(link) < 0:
            raise DataError(f"{where}: {word!r}: the words of a gold alignment count from 1, this one counts from 0.")
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def check_gold(gold: Gold, num_source_words: int, num_target_words: int, where: str) -> None:
    """DataError for a link to a word that the pair does not have: the gold is of other pairs, or of other words."""
    for side, words, number in (("source", 0, num_source_words), ("target", 1, num_target_words)):
        last = max((link[words] for link in gold.possible), default=-1)
        if last >= number:
            raise DataError(
                f"{where}: a link to {side} word {last + 1}; the {side} of this pair has {number} words, split at "
                "spaces. The gold must belong to these very pairs."
            )


def measure_alignments(found: Sequence[Collection[Link]], golds: Sequence[Gold]) -> dict[str, Measurement]:
    """aer, precision and recall in percent, from counts a sentence: |A & S|, |A & P|, |A|, |S|."""
    rows = []
    for links, gold in zip(found, golds, strict=True):
        A = set(links)
        rows.append((len(A & gold.sure), len(A & gold.possible), len(A), len(gold.sure)))
    counts = np.array(rows, dtype=np.float64).reshape(-1, 4)
    formulas = {"aer": error_rate, "precision": precision, "recall": recall}
    return {name: Measurement(counts, formula, SIGNATURE) for name, formula in formulas.items()}


def error_rate(sums: Sums) -> float:
    in_sure, in_possible, links, sure = map(float, sums)
    return 100 * (1 - (in_sure + in_possible) / (links + sure)) if links + sure else 0.0


def precision(sums: Sums) -> float:
    """Of no link at all 100: none of them is wrong."""
    return 100 * float(sums[1]) / float(sums[2]) if sums[2] else 100.0


def recall(sums: Sums) -> float:
    return 100 * float(sums[0]) / float(sums[3]) if sums[3] else 100.0
