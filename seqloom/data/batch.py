"""Ids -> padded tensors.

src      x1 .. xm EOS PAD      the end of sentence is always there, so no row is empty
tgt_in   BOS y1 .. yn PAD      what the decoder reads
tgt_out  y1 .. yn EOS PAD      what it should say
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data.store import Store
from seqloom.text.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Batch:
    """What a model learns from in one step; masks are True at real tokens."""

    src: Tensor  # (B, S) int64
    src_mask: Tensor  # (B, S) bool
    tgt_in: Tensor  # (B, T) int64
    tgt_out: Tensor  # (B, T) int64
    tgt_mask: Tensor  # (B, T) bool
    indices: Tensor  # (B,) int64, the pairs in their store

    def __len__(self) -> int:
        return len(self.indices)

    def to(self, device: torch.device | str) -> "Batch":
        parts = (self.src, self.src_mask, self.tgt_in, self.tgt_out, self.tgt_mask, self.indices)
        return Batch(*(part.to(device, non_blocking=True) for part in parts))


def collate(store: Store, indices: NDArray[np.integer]) -> Batch:
    """The batch of these pairs, in this order."""
    src, src_mask = lay_out(*store.take("source", indices))
    tgt_out, tgt_mask = lay_out(*store.take("target", indices))
    return Batch(src, src_mask, shift_right(tgt_out), tgt_out, tgt_mask, torch.from_numpy(indices.astype(np.int64)))


def pad_sources(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """(src, src_mask) of lists of ids."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return lay_out(np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths)


def pad_targets(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
    """(tgt_in, tgt_out, tgt_mask) of lists of ids."""
    tgt_out, tgt_mask = pad_sources(rows)
    return shift_right(tgt_out), tgt_out, tgt_mask


def lay_out(flat: NDArray[np.integer], lengths: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Rows of ids that lie one after the other -> a grid with an end of sentence to each row, and its mask."""
    columns = np.arange(lengths.max(initial=0) + 1)
    grid = np.full((len(lengths), len(columns)), PAD, np.int64)  # (B, S)
    grid[columns < lengths[:, None]] = flat
    grid[np.arange(len(lengths)), lengths] = EOS
    return torch.from_numpy(grid), torch.from_numpy(columns <= lengths[:, None])


def shift_right(tgt_out: Tensor) -> Tensor:
    """y1 .. yn EOS PAD -> BOS y1 .. yn PAD: the end of sentence is never read."""
    tgt_in = torch.cat([torch.full_like(tgt_out[:, :1], BOS), tgt_out[:, :-1]], dim=1)
    return tgt_in.masked_fill(tgt_in == EOS, PAD)
