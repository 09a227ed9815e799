"""How much of a test set was in the training data: by hashes of the token ids, so ten million pairs take seconds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 1 << 18  # bounds the memory


def count_known(
    test: Sequence[Sequence[int]], train_lengths: NDArray[Any], take: Callable[[NDArray[Any]], NDArray[Any]]
) -> int:
    """How many of the test sequences the training data holds; `take(rows)` gives the ids of these rows, joined."""
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
    """h = sum_i (id_i + 1) w_i mod 2^64, w random and odd: two rows that differ have the same hash once in 2^60."""
    weights = np.random.default_rng(1).integers(0, 1 << 63, ids.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return (ids.astype(np.uint64) + np.uint64(1)) @ weights
