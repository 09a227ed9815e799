"""Word pairs that people judged: does the cosine rank them as people do?

    rho = Pearson's correlation of the ranks, equals sharing the mean of theirs     (Spearman 1904)

A file has two words and a number a line, with tabs, commas or blanks between; a first line without a number, and with
as many cells as the next, is a header, and a part of speech may stand before the number, as in SimLex-999. A pair with
a word that has no vector is left out, and is counted.
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
FEWEST = 3  # two pairs always agree or disagree wholly
FEWEST_DRAWN = 10  # of fewer most draws agree or disagree wholly: an interval would have no width
PARTS = re.compile(r"[\t,; ]+")
PARTS_OF_SPEECH = ("A", "N", "V")


@dataclass(frozen=True)
class Judged:
    """How well cosines agree with people; rho is nan when too few pairs have vectors, or all are equal.

    low and high are nan when there are pairs enough for rho, and not for an interval.
    """

    name: str
    rho: float
    low: float
    high: float
    used: int
    total: int

    @property
    def no_interval(self) -> str | None:
        """Why there is none; None where there is one."""
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
    """JSON has no nan."""
    return value if np.isfinite(value) else None


def read_pairs(path: Path) -> list[tuple[str, str, float]]:
    pairs: list[tuple[str, str, float]] = []
    header = ""  # the first line, until the next tells whether it is one
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
        raise DataError(f"{path}: no pair in it. Want two words and a number a line.")
    return pairs


def parse_pair(text: str) -> tuple[str, str, float] | None:
    parts = text.split("\t") if "\t" in text else PARTS.split(text)
    if len(parts) > 3 and parts[2] in PARTS_OF_SPEECH:
        del parts[2]
    if len(parts) < 3 or not is_number(parts[2]) or not np.isfinite(float(parts[2])):
        return None
    return parts[0].strip(), parts[1].strip(), float(parts[2])


def names_columns(header: str, text: str) -> bool:
    """As many names as the line has cells, between the same signs: a name may hold blanks, `Word 1,Word 2,Mean`."""
    sign = next((sign for sign in "\t,;" if sign in text), None)
    return len(header.split(sign)) == len(text.split(sign))


def no_pair(path: Path, line: int, text: str) -> str:
    return f"{path}, line {line}: {text[:60]!r}: want two words and a number."


def judge(vectors: WordVectors, pairs: list[tuple[str, str, float]], name: str) -> Judged:
    places = [(vectors.place(a), vectors.place(b), score) for a, b, score in pairs]
    known = [(a, b, score) for a, b, score in places if a is not None and b is not None]
    if len(known) < FEWEST:
        return Judged(name, np.nan, np.nan, np.nan, len(known), len(pairs))
    first, second, people = zip(*known, strict=True)
    cosines = (vectors.unit[list(first)] * vectors.unit[list(second)]).sum(1)
    low, high = bootstrap(cosines, np.array(people)) if len(known) >= FEWEST_DRAWN else (np.nan, np.nan)
    return Judged(name, spearman(cosines, people), low, high, len(known), len(pairs))


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """From 1 on; equals share the mean of their ranks."""
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """nan when all of a side are equal."""
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
