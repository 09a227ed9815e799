"""Batches: token ids as padded tensors.

src      x1 .. xm EOS PAD      the end of sentence is always there, so no row is empty
tgt_in   BOS y1 .. yn PAD      what the decoder reads
tgt_out  y1 .. yn EOS PAD      what it should write

The sources are always in reading order here. data.reverse_source (Sutskever et al. 2014) is carried out by the encoder:
`directions_of` in models/build.py, and nn/reversal.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data.sampler import Indices, Plan, Sampler
from seqloom.data.store import Store
from seqloom.text.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Batch:
    """The tensors that a model learns from in one step; masks are True at real tokens."""

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
    """Make the batch of these pairs, in this order."""
    src, src_mask = lay_out(*store.take("source", indices))
    tgt_out, tgt_mask = lay_out(*store.take("target", indices))
    return Batch(src, src_mask, shift_right(tgt_out), tgt_out, tgt_mask, torch.from_numpy(indices.astype(np.int64)))


def pad_sources(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Pad lists of ids: (src, src_mask)."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return lay_out(np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths)


def pad_targets(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Pad lists of ids: (tgt_in, tgt_out, tgt_mask)."""
    tgt_out, tgt_mask = pad_sources(rows)
    return shift_right(tgt_out), tgt_out, tgt_mask


def lay_out(flat: NDArray[np.integer], lengths: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Turn rows of ids that lie one after the other into a grid with EOS at the end of each row, and its mask."""
    columns = np.arange(lengths.max(initial=0) + 1)
    grid = np.full((len(lengths), len(columns)), PAD, np.int64)  # (B, S)
    grid[columns < lengths[:, None]] = flat
    grid[np.arange(len(lengths)), lengths] = EOS
    return torch.from_numpy(grid), torch.from_numpy(columns <= lengths[:, None])


def shift_right(tgt_out: Tensor) -> Tensor:
    """Turn y1 .. yn EOS PAD into BOS y1 .. yn PAD: the decoder never reads the end of sentence."""
    tgt_in = torch.cat([torch.full_like(tgt_out[:, :1], BOS), tgt_out[:, :-1]], dim=1)
    return tgt_in.masked_fill(tgt_in == EOS, PAD)


class StoreBatches:
    """A store and a sampler as the epochs of batches that a training loop asks for."""

    def __init__(
        self,
        store: Store,
        batch_tokens: int,
        seed: int,
        read: Callable[[Store, Indices], Batch] = collate,
    ) -> None:
        self.store, self.read = store, read
        lengths = (store.source_lengths, store.target_lengths)
        self.sampler = Sampler(*lengths, batch_tokens, seed, store.corpora, store.weights)
        self.latest = (0, self.sampler.epoch(0))

    def epoch(self, number: int) -> Plan:
        """Return the plan of an epoch; the latest is kept, because ten million pairs take seconds to plan."""
        if self.latest[0] != number:
            self.latest = (number, self.sampler.epoch(number))
        return self.latest[1]

    def load(self, indices: Indices) -> Batch:
        return self.read(self.store, indices)

    def where(self, indices: Indices) -> list[str]:
        """Return `file:line` of each pair of a batch."""
        return [self.store.where(int(index)) for index in indices]
