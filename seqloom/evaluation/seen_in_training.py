"""Counts test sources that were also in the training data: on those, scores show what the model remembers.

They are found by hashes of the token ids: ten million pairs take seconds.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data.store import Store
from seqloom.errors import DataError

ROWS_AT_ONCE = 1 << 18  # limits memory


def count_seen(folder: Path, encoded: Sequence[Sequence[int]]) -> int | None:
    """Number of sources, as tokens, that are also in the training data; None if the token store was deleted."""
    try:
        store = Store.open(folder / "store")
    except (DataError, OSError):
        return None
    return count_known(encoded, store.source_lengths, lambda rows: store.take("source", rows)[0])


def seen_warning(seen: int | None, number: int, what: str = "sources") -> list[str]:
    if not seen:
        return []
    return [
        f"{seen:,} of {number:,} {what} were also in the training data: "
        "on those the scores show what the model remembers, not how well it does on new text."
    ]


def count_known(
    test: Sequence[Sequence[int]], train_lengths: NDArray[Any], take: Callable[[NDArray[Any]], NDArray[Any]]
) -> int:
    """Number of test sequences that are in the training data; `take(rows)` returns the concatenated ids of rows."""
    by_length: dict[int, list[Sequence[int]]] = {}
    for ids in test:
        by_length.setdefault(len(ids), []).append(ids)
    known = 0
    for length, same in by_length.items():
        wanted = hash_rows(np.array(same, dtype=np.uint64).reshape(len(same), length))
        found = np.zeros(len(wanted), dtype=bool)
        rows = np.flatnonzero(train_lengths == length)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[start : start + ROWS_AT_ONCE]
            found |= np.isin(wanted, hash_rows(take(part).reshape(len(part), length)))
        known += int(found.sum())
    return known


def hash_rows(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Hash of each row:  h = sum_i (id_i + 1) w_i mod 2^64, w random and odd; different rows collide once in 2^60."""
    weights = np.random.default_rng(1).integers(0, 1 << 63, ids.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return (ids.astype(np.uint64) + np.uint64(1)) @ weights
