"""Find repeated pairs: duplicates, one source with many targets, and overlap between files.

Of each pair only two 64-bit hashes are kept. Two different texts among ten million share one with a chance of 3 in a
million.
"""

from array import array

import numpy as np

from seqloom.data.checks import Chunk
from seqloom.data.findings import Finding, first_lines


class Fingerprints:
    """Keeps a hash of each source and of each pair, in file order. By Python's own hash: fast, equal in one process."""

    def __init__(self) -> None:
        self.lines, self.sources, self.pairs = array("q"), array("q"), array("q")

    def add(self, chunk: Chunk) -> None:
        self.lines.extend(chunk.lines)
        self.sources.extend(map(hash, chunk.sources))
        self.pairs.extend(map(hash, zip(chunk.sources, chunk.targets, strict=True)))

    def column(self, name: str) -> np.ndarray:
        return np.frombuffer(getattr(self, name), np.int64)

    def findings(self, lines: np.ndarray) -> list[Finding]:
        repeats = later_ones(self.column("pairs"))
        first = np.ones(len(lines), bool)
        first[repeats] = False  # a repeated pair does not count as a second target
        found = [Finding("duplicate", len(repeats), first_lines(lines[repeats]))]
        found[0].places.extend(repeats.tolist())
        several = repeated(self.column("sources")[first])
        if len(several):
            shared = lines[first & is_among(self.column("sources"), several)]
            detail = f"{len(several):,} source{'s' * (len(several) > 1)}"
            found.append(Finding("many targets", len(shared), first_lines(shared), detail))
        return found


def repeated(hashes: np.ndarray) -> np.ndarray:
    """Return the values that occur more than once, each once, sorted."""
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def is_among(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return True where a hash is one of the sorted `known`; np.isin would sort copies of everything."""
    if not len(known):
        return np.zeros(len(hashes), bool)
    return known[np.searchsorted(known[:-1], hashes)] == hashes


def later_ones(hashes: np.ndarray) -> np.ndarray:
    """Return the indexes of all values that have occurred before, in order."""
    places = np.flatnonzero(is_among(hashes, repeated(hashes)))
    _, first = np.unique(hashes[places], return_index=True)
    return np.delete(places, first)


def overlap(ours: Fingerprints, others: Fingerprints, name: str) -> list[Finding]:
    """Report sources of the other file that our file has too; counted in lines of the other file."""
    theirs = others.column("sources")
    both = [is_among(ours.column("sources"), np.unique(theirs)), is_among(theirs, np.unique(ours.column("sources")))]
    if not both[1].any():
        return []
    pairs = int(is_among(others.column("pairs"), np.unique(ours.column("pairs"))).sum())
    lines = [first_lines(side.column("lines")[mask]) for side, mask in zip((ours, others), both, strict=True)]
    count = int(both[1].sum())
    detail = (
        f"{count:,} source{'s of' if count > 1 else ' of'} {name} {'are' if count > 1 else 'is'} here too, "
        f"{pairs:,} with the same target; lines there: {', '.join(map(str, lines[1]))}"
    )
    found = Finding("overlap", count, lines[0], detail, other=name, other_lines=lines[1])
    found.places.extend(np.flatnonzero(both[0]).tolist())
    return [found]
