"""Agreement with human similarity judgements: rank correlation of cosines and scores that people gave to word pairs.

    rho = Pearson's correlation of the ranks; ties share their mean rank     (Spearman 1904)

A file has two words and a number per line, separated by tabs, commas or spaces. A first line without a number, with as
many cells as the next, is a header. A part of speech may precede the number, as in SimLex-999. Pairs with a word that
has no vector are left out and counted.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.data.lines import Fault, read_lines
from seqloom.errors import DataError
from seqloom.vectors.head import is_number
from seqloom.vectors.word_vectors import WordVectors

RESAMPLES = 1000
SEED = 12345
FEWEST = 3  # with two pairs rho is always 1 or -1
FEWEST_DRAWN = 10  # with fewer pairs rho is 1 or -1 in most resamples: an interval would mean nothing
PARTS = re.compile(r"[\t,; ]+")
PARTS_OF_SPEECH = ("A", "N", "V")


@dataclass(frozen=True)
class Judged:
    """Agreement of cosines with human judgements; rho is nan if too few pairs have vectors, or all are equal.

    low and high are nan if there are enough pairs for rho but not for an interval.
    """

    name: str
    rho: float
    low: float
    high: float
    used: int
    total: int

    @property
    def no_interval(self) -> str | None:
        """The reason why there is no interval; None if there is one."""
        if self.used >= FEWEST_DRAWN:
            return None
        return f"{self.used} pairs are too few for an interval; want {FEWEST_DRAWN} or more"

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": self.name,
            "spearman": number(self.rho),
            "low": number(self.low),
            "high": number(self.high),
            "no_interval": self.no_interval,
            "used": self.used,
            "total": self.total,
        }


def number(value: float) -> float | None:
    """The value, or None for nan, which JSON does not have."""
    return value if np.isfinite(value) else None


def read_pairs(path: Path) -> list[tuple[str, str, float]]:
    """Read word pairs with their scores; DataError with the line for anything else."""
    pairs: list[tuple[str, str, float]] = []
    header = ""  # the first line, until the next one shows whether it is a header
    for line, text in enumerate(read_lines(path), 1):
        if isinstance(text, Fault):
            raise DataError(f"{path}, line {line}: {text.kind}: {text.detail}.")
        if not text.strip() or text.startswith("#"):
            continue
        pair = parse_pair(text.strip())
        if header and not names_columns(header, text.strip()):
            raise DataError(no_pair(path, 1, header))
        header = text.strip() if pair is None and line == 1 else ""
        if pair:
            pairs.append(pair)
        elif not header:
            raise DataError(no_pair(path, line, text))
    if not pairs:
        raise DataError(f"{path}: has no word pairs. Want two words and a number per line.")
    return pairs


def parse_pair(text: str) -> tuple[str, str, float] | None:
    """The pair of a line; None if it is not one."""
    parts = text.split("\t") if "\t" in text else PARTS.split(text)
    if len(parts) > 3 and parts[2] in PARTS_OF_SPEECH:
        del parts[2]
    if len(parts) < 3 or not is_number(parts[2]) or not np.isfinite(float(parts[2])):
        return None
    return parts[0].strip(), parts[1].strip(), float(parts[2])


def names_columns(header: str, text: str) -> bool:
    """Whether a header has as many cells as a line, by the same separator; names may have spaces: `Word 1,Word 2`."""
    separator = next((sign for sign in "\t,;" if sign in text), None)
    return len(header.split(separator)) == len(text.split(separator))


def no_pair(path: Path, line: int, text: str) -> str:
    return f"{path}, line {line}: {text[:60]!r}: want two words and a number."


def judge(vectors: WordVectors, pairs: list[tuple[str, str, float]], name: str) -> Judged:
    """Rank correlation of cosines and human scores, over the pairs whose words have vectors."""
    found = [(vectors.place(a), vectors.place(b), score) for a, b, score in pairs]
    known = [(a, b, score) for a, b, score in found if a is not None and b is not None]
    if len(known) < FEWEST:
        return Judged(name, np.nan, np.nan, np.nan, len(known), len(pairs))
    first, second, people = zip(*known, strict=True)
    cosines = (vectors.unit[list(first)] * vectors.unit[list(second)]).sum(1)
    low, high = bootstrap(cosines, np.array(people)) if len(known) >= FEWEST_DRAWN else (np.nan, np.nan)
    return Judged(name, spearman(cosines, people), low, high, len(known), len(pairs))


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1; ties share their mean rank."""
    _, index, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation; nan if all values of one side are equal."""
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread else float("nan")


def bootstrap(x: NDArray[np.floating], y: NDArray[np.floating]) -> tuple[float, float]:
    """The 95 % interval over resampled pairs (Efron 1979)."""
    random = np.random.default_rng(SEED)
    drawn = (random.integers(0, len(x), len(x)) for _ in range(RESAMPLES))
    found = np.sort([rho for rows in drawn if not np.isnan(rho := spearman(x[rows], y[rows]))])
    if not len(found):
        return float("nan"), float("nan")
    skip = len(found) // 40
    return float(found[skip]), float(found[-1 - skip])
