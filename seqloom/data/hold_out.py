"""Choose the pairs that are held out for validation, in one pass over the data; the same pairs every time.

Each source text has a key, a hash of it and the seed. The pairs with the smallest keys are held out, so all pairs of
one source text are on the same side, and the choice depends on nothing but the seed and the texts.
"""

import hashlib
import heapq
from collections import deque
from typing import Generic, TypeVar

from seqloom.data.forms import LABELS, ONE_COLUMN

Row = TypeVar("Row")
ROOM = 4  # candidates per wanted pair: the source of some may turn out to be too frequent


class HoldOut(Generic[Row]):
    """Keeps the candidates for `most` rows: all rows of a text or none, and at most ROOM times as many as wanted."""

    def __init__(self, most: int, seed: int) -> None:
        self.most = most
        self.salt = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
        self.groups: dict[int, list[Row]] = {}
        self.largest: list[int] = []  # a heap of -key
        self.banned: set[int] = set()  # texts that alone have more than `most` pairs
        self.limit = 1 << 64  # keys from here on may have been dropped before, so they stay out
        self.size = 0

    def add(self, source: str, row: Row) -> None:
        """Offer one pair."""
        digest = hashlib.blake2b(source.encode(), digest_size=8, key=self.salt).digest()
        key = int.from_bytes(digest, "little")
        if key >= self.limit or key in self.banned:
            return
        if key not in self.groups:
            self.groups[key] = []
            heapq.heappush(self.largest, -key)
        self.groups[key].append(row)
        self.size += 1
        if len(self.groups[key]) > self.most:
            self.banned.add(key)
            self.largest.remove(-key)
            heapq.heapify(self.largest)
            self.size -= len(self.groups.pop(key))
        while self.size > ROOM * self.most:
            self.limit = -heapq.heappop(self.largest)
            self.size -= len(self.groups.pop(self.limit))

    def choose(self, most: int) -> list[Row]:
        """Return at most `most` of the rows: whole groups only, those with the smallest keys first."""
        chosen: list[Row] = []
        for key in sorted(self.groups):
            if len(chosen) + len(self.groups[key]) <= most:
                chosen += self.groups[key]
        return chosen


class Tail(Generic[Row]):
    """Holds out the last rows of running text: both what is held out and what is left must stay connected."""

    def __init__(self, most: int, seed: int) -> None:
        self.rows: deque[Row] = deque(maxlen=most)

    def add(self, source: str, row: Row) -> None:
        self.rows.append(row)

    def choose(self, most: int) -> list[Row]:
        return list(self.rows)[-most:]


def none_to_hold_out(names: str, kept: int, form: str) -> str:
    """Return the message for data of which nothing can be held out, or nothing would be left to train on."""
    lines = f"{names}: {kept:,} usable line{'s' * (kept > 1)}"
    if form in ONE_COLUMN:
        return (
            f"{lines} of text: too few to hold any out for validation. "
            "Give another text with --valid, or break this one into lines."
        )
    return (
        f"{lines} with too few different {'texts' if form in LABELS else 'sources'}: none can be held out for "
        "validation. Give a validation file with --valid."
    )
