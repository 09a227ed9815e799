"""What separates the columns of a table, found by how regularly it cuts the lines of a sample.

A separator cuts nearly all lines into the same number of cells. A comma of a sentence does not: a blank follows it, or
digits surround it (3,14). A tab is never part of a sentence, so it wins wherever it cuts the lines regularly.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from seqloom.data.csv_reader import csv_rows
from seqloom.errors import UsageError

TAB = "\t"
BARS = "|||"  # as aligners write pairs
IN_WORDS = {TAB: "tabs", ",": "commas", ";": "semicolons", "|": "bars '|'", BARS: "'|||'"}
REGULAR = 0.85  # share of the lines that must have the same number of cells
LOOKED_AT = 2000  # lines


def name_delimiter(delimiter: str) -> str:
    """Return the separator in words, for a sentence: `tabs`, `semicolons`."""
    return IN_WORDS.get(delimiter, repr(delimiter))


def find_delimiter(file: Path, pieces: Iterable[Sequence[str]], usual: str) -> str:
    """Find what separates the columns; `usual` is what the name of the file promises.

    A UsageError where two separators fit equally well: a wrong choice would cut texts in two.
    """
    lines = [[line for line in piece if line.strip()][:LOOKED_AT] for piece in pieces]
    if fit(lines, TAB) >= (0.5 if usual == TAB else REGULAR):
        return TAB
    if fit(lines, BARS) >= REGULAR:
        return BARS
    fits = {sign: fit(lines, sign) for sign in (";", ",", "|")}
    good = sorted((sign for sign in fits if fits[sign] >= REGULAR), key=lambda sign: -fits[sign])
    if not good or (good == [usual]):
        return usual
    if len(good) > 1 and fits[good[0]] - fits[good[1]] < 0.1:
        first, second = sorted(good[:2], key=lambda sign: sign != usual)
        raise UsageError(
            f"{file}: both {name_delimiter(first)} and {name_delimiter(second)} cut its lines into regular columns. "
            f"Say which is right: --delimiter {first!r} or --delimiter {second!r}"
        )
    return good[0]


def fit(pieces: Iterable[Sequence[str]], delimiter: str) -> float:
    """Return how well a separator fits, 0 to 1: the share of lines with the usual number of cells, cut where no
    sentence has a comma."""
    counts: Counter[int] = Counter()
    cuts = loose = 0
    for piece in pieces:
        for _, cells in csv_rows(piece, delimiter):
            if not isinstance(cells, list):
                continue
            counts[len(cells)] += 1
            for before, after in itertools.pairwise(cells):
                cuts += 1
                loose += within_sentence(before, after, delimiter)
    usual = max((number for number in counts if number > 1), key=lambda number: counts[number], default=0)
    if not usual:
        return 0.0
    return counts[usual] / counts.total() * (1 - loose / cuts)


def within_sentence(before: str, after: str, delimiter: str) -> bool:
    """Whether a separator between these cells looks like punctuation: `yes, please` or `3,14`."""
    if delimiter == "," and before[-1:].isdigit() and after[:1].isdigit():
        return True
    return after[:1] == " " and before[-1:] != " "


def is_spaced(pieces: Iterable[Sequence[str]], delimiter: str) -> bool:
    """Whether a blank follows nearly every separator of the lines: then it is a habit of the writer, not text."""
    after = [cell for piece in pieces for line in piece[:LOOKED_AT] for cell in line.split(delimiter)[1:]]
    return bool(after) and sum(cell[:1] == " " for cell in after) > 0.95 * len(after)


def all_quoted(pieces: Iterable[Sequence[str]]) -> bool:
    """Whether nearly every cell between tabs is in quotes: then they belong to the format, not to the text."""
    cells = [cell for piece in pieces for line in piece[:LOOKED_AT] if TAB in line for cell in line.split(TAB)]
    quoted = sum(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells)
    return bool(cells) and quoted >= 0.9 * len(cells)
