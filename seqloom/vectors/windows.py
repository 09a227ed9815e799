"""A text as blocks of words with their surroundings: what makes word2vec a few matrix products.

Block b has L words and the C = L + 2 * window words from `window` before it to `window` after it. Which of them are
near which is a band of ones, cut where texts end. A product of L by C scores every pair of the block at once; most of
them are thrown away, and it is still faster than one pair after the other. All words of a block share their noise,
which leaves the expectation as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from seqloom.vectors.words import WordCorpus

if TYPE_CHECKING:
    from torch import Tensor


Blocks = tuple[NDArray[np.int64], NDArray[np.int32]]  # (B, C) ids, and the texts they stand in


@dataclass(frozen=True)
class Windows:
    """A batch of blocks. Id V, behind the last word, stands where there is no word; it is near nothing."""

    words: "Tensor"  # (B, L) ids
    around: "Tensor"  # (B, C) ids
    near: "Tensor"  # (B, L, C) 1 where a word of the block has that one in its window, else 0
    noise: "Tensor"  # (B, M) ids


@dataclass(frozen=True)
class Gradients:
    """For v, of words that are read, and u, of words that are predicted: ids (B, n) and their gradients (B, n, E)."""

    of_v: "list[tuple[Tensor, Tensor]]"
    of_u: "list[tuple[Tensor, Tensor]]"


@dataclass(frozen=True)
class WindowMaker:
    """Batches of blocks, anew in each epoch: other words are left out, other windows drawn, blocks in another order."""

    corpus: WordCorpus
    keep: NDArray[np.float32]  # (V,)
    noise: NDArray[np.int32]
    window: int
    block_size: int  # L
    num_noise: int  # M
    blocks_at_once: int  # B

    def batches(self, random: np.random.Generator) -> Iterator[tuple[float, Blocks]]:
        """One epoch; with each batch, the share of the epoch that is done before it."""
        ids, texts = self.blocks(random)
        order = random.permutation(len(ids))
        for start in range(0, len(order), self.blocks_at_once):
            rows = order[start : start + self.blocks_at_once]
            yield start / len(order), (ids[rows], texts[rows])

    def blocks(self, random: np.random.Generator) -> Blocks:
        """Those of the whole text without the words left out; rows are views that overlap."""
        corpus, L, C = self.corpus, self.block_size, self.block_size + 2 * self.window
        kept = random.random(len(corpus.ids), dtype=np.float32) < self.keep[corpus.ids]
        num_blocks = max(1, -(-int(kept.sum()) // L))
        ids = np.full(num_blocks * L + 2 * self.window, len(corpus.words), np.int64)
        texts = -1 - np.arange(len(ids), dtype=np.int32)  # where there is no word, a text of its own
        inside = slice(self.window, self.window + int(kept.sum()))
        ids[inside], texts[inside] = corpus.ids[kept], corpus.text_of[kept]
        return overlapping(ids, C, L), overlapping(texts, C, L)

    def draw(self, blocks: Blocks, random: np.random.Generator) -> Windows:
        """How far each window reaches, and the noise."""
        import torch

        ids, texts = blocks
        B, C = ids.shape
        around, text_of = torch.from_numpy(ids), torch.from_numpy(texts)
        block = slice(self.window, C - self.window)
        reach = torch.from_numpy(random.integers(1, self.window + 1, (B, self.block_size), np.int16))
        near = (self.distances <= reach[..., None]) & (text_of[:, block, None] == text_of[:, None])  # (B, L, C)
        drawn = self.noise[random.integers(0, len(self.noise), (B, self.num_noise), np.int32)]
        return Windows(around[:, block].contiguous(), around, near.float(), torch.from_numpy(drawn.astype(np.int64)))

    @cached_property
    def distances(self) -> "Tensor":
        """(L, C): how many words lie between, counted from 1; no word is near itself."""
        import torch

        place = torch.arange(self.block_size)[:, None] + self.window
        distance = (torch.arange(self.block_size + 2 * self.window) - place).abs()
        return distance.masked_fill(distance == 0, self.window + 1).short()


def overlapping(values: NDArray[Any], width: int, step: int) -> NDArray[Any]:
    """A view of rows of `width` values, each row `step` values behind the one before."""
    return sliding_window_view(values, width)[::step]
