"""Choose the pairs that are held out for validation, in one pass over the data; the same pairs every time.

Each source text has a key, a hash of it and the seed. The pairs with the smallest keys are held out, so all pairs of
one source text are on the same side, and the choice depends on nothing but the seed and the texts.
"""

import hashlib
import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from seqloom.data.forms import LABELS, ONE_COLUMN

Row = TypeVar("Row")
ALL = 1 << 64  # above every key
ROOM = 4  # candidates per wanted pair: the source of some may turn out to be too frequent


class HoldOut(Generic[Row]):
    """Keeps the candidates for `most` rows: all rows of a text or none, and at most ROOM times as many as wanted."""

    def __init__(self, most: int, seed: int) -> None:
        self.most = most
        self.salt = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
        self.groups: dict[int, list[Row]] = {}
        self.largest: list[int] = []  # a heap of -key
        self.banned: set[int] = set()  # texts that alone have more than `most` pairs
        self.limit = ALL  # keys from here on may have been dropped before, so they stay out
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
        self.shrink()

    def shrink(self) -> None:
        """Drop the candidates with the largest keys while there are too many."""
        while self.size > ROOM * self.most:
            self.limit = -heapq.heappop(self.largest)
            self.size -= len(self.groups.pop(self.limit))

    def to_plain(self) -> dict[str, Any]:
        """Return the candidates as plain values; `join` takes them."""
        return {"limit": min(self.limit, ALL - 1), "banned": sorted(self.banned), "groups": [*self.groups.items()]}

    def join(self, later: Mapping[str, Any], moved: Callable[[Any], Row]) -> None:
        """Add the candidates of a later part of the data, as if its pairs were added here one by one.

        moved: makes a row of this data from a plain one of that part.
        """
        self.limit = min(self.limit, ALL if later["limit"] == ALL - 1 else later["limit"])
        self.banned.update(later["banned"])
        for key, rows in later["groups"]:
            self.groups.setdefault(key, []).extend(map(moved, rows))
        self.banned.update(key for key, rows in self.groups.items() if len(rows) > self.most)
        kept = {key: rows for key, rows in self.groups.items() if key < self.limit and key not in self.banned}
        self.groups, self.size = kept, sum(map(len, kept.values()))
        self.largest = [-key for key in kept]
        heapq.heapify(self.largest)
        self.shrink()

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

    def to_plain(self) -> dict[str, Any]:
        return {"rows": list(self.rows)}

    def join(self, later: Mapping[str, Any], moved: Callable[[Any], Row]) -> None:
        self.rows.extend(map(moved, later["rows"]))

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
