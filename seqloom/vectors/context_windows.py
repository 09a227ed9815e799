"""Blocks of words with their contexts: they turn word2vec training into a few matrix products.

Block b has L words, and C = L + 2 * window words from `window` before it to `window` after it. The context of each word
is a band of ones in an L by C matrix, cut at the ends of texts. One product scores all L x C pairs of a block at once.
Most of them are not used, but this is still faster than one pair after the other. All words of a block share their
noise words (negative samples), which does not change the expectation.
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


Blocks = tuple[NDArray[np.int64], NDArray[np.int32]]  # (B, C) ids, and the number of the text of each


@dataclass(frozen=True)
class Windows:
    """A batch of blocks. Id V, one beyond the last word, is padding; it is in no context."""

    words: "Tensor"  # (B, L) ids
    around: "Tensor"  # (B, C) ids
    near: "Tensor"  # (B, L, C) 1 if the word of column C is in the window of the word of row L, else 0
    noise: "Tensor"  # (B, M) ids


@dataclass(frozen=True)
class Gradients:
    """Gradients of v (input vectors) and u (output vectors): ids (B, n) with their gradients (B, n, E)."""

    of_v: "list[tuple[Tensor, Tensor]]"
    of_u: "list[tuple[Tensor, Tensor]]"


@dataclass(frozen=True)
class WindowMaker:
    """Makes the batches of an epoch; subsampling of frequent words, window sizes and block order are random."""

    corpus: WordCorpus
    keep: NDArray[np.float32]  # (V,)
    noise: NDArray[np.int32]
    window: int
    block_size: int  # L
    num_noise: int  # M
    blocks_at_once: int  # B

    def batches(self, random: np.random.Generator) -> Iterator[tuple[float, Blocks]]:
        """The batches of one epoch, each with the share of the epoch that is done before it."""
        ids, texts = self.blocks(random)
        order = random.permutation(len(ids))
        for start in range(0, len(order), self.blocks_at_once):
            rows = order[start : start + self.blocks_at_once]
            yield start / len(order), (ids[rows], texts[rows])

    def blocks(self, random: np.random.Generator) -> Blocks:
        """All blocks of the subsampled text; rows are overlapping views."""
        corpus, L, C = self.corpus, self.block_size, self.block_size + 2 * self.window
        kept = random.random(len(corpus.ids), dtype=np.float32) < self.keep[corpus.ids]
        num_blocks = max(1, -(-int(kept.sum()) // L))
        ids = np.full(num_blocks * L + 2 * self.window, len(corpus.words), np.int64)
        texts = -1 - np.arange(len(ids), dtype=np.int32)  # padding: each is a text of its own
        inside = slice(self.window, self.window + int(kept.sum()))
        ids[inside], texts[inside] = corpus.ids[kept], corpus.text_of[kept]
        return overlapping(ids, C, L), overlapping(texts, C, L)

    def draw(self, blocks: Blocks, random: np.random.Generator) -> Windows:
        """Draw the window size of each word, and the noise words."""
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
        """(L, C) distances in words, 1 = neighbours; a word is beyond every window of itself."""
        import torch

        position = torch.arange(self.block_size)[:, None] + self.window
        distance = (torch.arange(self.block_size + 2 * self.window) - position).abs()
        return distance.masked_fill(distance == 0, self.window + 1).short()


def overlapping(values: NDArray[Any], width: int, step: int) -> NDArray[Any]:
    """A view with rows of `width` values, each row starting `step` values after the previous one."""
    return sliding_window_view(values, width)[::step]
