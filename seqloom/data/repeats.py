"""Pairs that come again: duplicates, one source with many targets, and overlap between files.

Of each pair only two 64-bit hashes are kept. Two different texts among ten million share one with a chance of 3 in a
million.
"""

from array import array

import numpy as np

from seqloom.data.checks import Chunk
from seqloom.data.findings import Finding, first_lines


class Fingerprints:
    """A hash of the source and of the pair, in file order. Python's own: fast, and equal within one process."""

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
        first[repeats] = False
        found = [Finding("duplicate", len(repeats), first_lines(lines[repeats]))]
        places = np.flatnonzero(first)  # a repeated pair is no second target
        sources = self.column("sources")[places]
        kinds, counts = np.unique(sources, return_counts=True)
        several = kinds[counts > 1]
        if len(several):
            shared = lines[places[np.isin(sources, several)]]
            found.append(
                Finding(
                    "many targets",
                    len(shared),
                    first_lines(shared),
                    f"{len(several):,} source{'s' * (len(several) > 1)}",
                )
            )
        return found


def later_ones(hashes: np.ndarray) -> np.ndarray:
    """Places of all that came before, in order."""
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    return np.sort(order[1:][same])


def overlap(ours: Fingerprints, others: Fingerprints, name: str) -> list[Finding]:
    """Sources of the other file that stand in ours as well; counted in lines of the other file."""
    common = np.intersect1d(ours.column("sources"), others.column("sources"))
    if not len(common):
        return []
    both = [np.isin(side.column("sources"), common) for side in (ours, others)]
    pairs = int(np.isin(others.column("pairs"), ours.column("pairs")).sum())
    lines = [first_lines(side.column("lines")[mask]) for side, mask in zip((ours, others), both, strict=True)]
    count = int(both[1].sum())
    detail = (
        f"{count:,} source{'s of' if count > 1 else ' of'} {name} {'stand' if count > 1 else 'stands'} here too, "
        f"{pairs:,} with the same target; lines there: {', '.join(map(str, lines[1]))}"
    )
    return [Finding("overlap", count, lines[0], detail, other=name, other_lines=lines[1])]
