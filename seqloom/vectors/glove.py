"""GloVe: the product of two word vectors approximates the log of their co-occurrence count (Pennington et al. 2014).

    J = sum over i, j of f(X_ij) (w_i . c_j + b_i + d_j - log X_ij)^2      f(x) = min(1, (x / x_max)^0.75)

X counts co-occurrences within a window, at distance d as 1 / d. The vector of a word is w + c.
AdaGrad: G <- G + g^2, theta <- theta - eta g / sqrt(G), element by element (Duchi et al. 2011).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqloom.vectors.cooccurrence import count_pairs
from seqloom.vectors.settings import Progress, VectorSettings
from seqloom.vectors.team import Team
from seqloom.vectors.words import WordCorpus

if TYPE_CHECKING:
    from torch import Tensor

X_MAX = 10.0  # the paper's 100 is for corpora of billions of words
POWER = 0.75
RATE = 0.1  # eta; the paper's 0.05 learns less in the same number of epochs on a small corpus
BATCH = 1 << 13  # entries of X: fits into the cache
SHOW_EVERY = 64  # batches


@dataclass(frozen=True)
class Half:
    """Parameters of one side, w and b, or c and d; the bias is the last column."""

    table: "Tensor"  # (V, E + 1)
    squares: "Tensor"  # G of AdaGrad, starting at 1

    def step(self, parts: "Sequence[tuple[Tensor, Tensor]]") -> None:
        """One AdaGrad step for all ids and gradients of a batch: first add all of them to G, then update the rows."""
        for ids, g in parts:
            self.squares.scatter_add_(0, ids[:, None].expand_as(g), g * g)
        for ids, g in parts:
            scale = self.squares.index_select(0, ids).rsqrt_().mul_(-RATE)
            self.table.scatter_add_(0, ids[:, None].expand_as(g), g.mul_(scale))


def glove_loss(w: "Tensor", c: "Tensor", x: "Tensor") -> "Tensor":
    """J over n entries of X, with rows w and c (n, E + 1), bias last, and counts x (n,)."""
    return ((x / X_MAX).clamp(max=1) ** POWER * difference(w, c, x) ** 2).sum()


def difference(w: "Tensor", c: "Tensor", x: "Tensor") -> "Tensor":
    """w_i . c_j + b_i + d_j - log X_ij, (n,)."""
    return (w[:, :-1] * c[:, :-1]).sum(1) + w[:, -1] + c[:, -1] - x.log()


def glove_gradients(w: "Tensor", c: "Tensor", x: "Tensor") -> "tuple[Tensor, Tensor, Tensor]":
    """Half of dJ/dw and of dJ/dc, as in the program of the paper, and J."""
    wrong = difference(w, c, x)
    g = (x / X_MAX).clamp(max=1) ** POWER * wrong
    dw, dc = c * g[:, None], w * g[:, None]
    dw[:, -1] = dc[:, -1] = g  # d/db = g: the bias column holds no product
    return dw, dc, g @ wrong


def train_glove(corpus: WordCorpus, settings: VectorSettings, team: Team, progress: Progress) -> NDArray[np.float32]:
    """Train GloVe vectors; returns w + c, (V, E)."""
    import torch

    random = np.random.default_rng(settings.seed)
    left, right, counts = count_pairs(corpus, settings.reach)
    mirrored = left != right  # X_ij = X_ji: both orders are used
    i = torch.from_numpy(np.concatenate([left, right[mirrored]]))
    j = torch.from_numpy(np.concatenate([right, left[mirrored]]))
    x = torch.from_numpy(np.concatenate([counts, counts[mirrored]]))
    w, c = (new_half(len(corpus.words), settings.size, random) for _ in range(2))

    def work(rows: "Tensor") -> "tuple[Tensor, Tensor, Tensor, Tensor, float]":
        ids_w, ids_c = i[rows], j[rows]
        dw, dc, J = glove_gradients(w.table.index_select(0, ids_w), c.table.index_select(0, ids_c), x[rows])
        return ids_w, dw, ids_c, dc, float(J)

    for epoch in range(settings.rounds):
        loss = 0.0
        order = torch.from_numpy(random.permutation(len(x)))
        for number, rows in enumerate(order.split(BATCH), 1):
            found = team.do([partial(work, part) for part in rows.chunk(team.size)])
            team.do([partial(w.step, [part[:2] for part in found]), partial(c.step, [part[2:4] for part in found])])
            loss += sum(part[4] for part in found)
            done = min(number * BATCH, len(x))
            if number % SHOW_EVERY == 0 or done == len(x):
                progress(int((epoch + done / len(x)) * len(corpus.ids)), {"loss": loss / done})
    return (w.table + c.table)[:, :-1].numpy()


def new_half(num_words: int, size: int, random: np.random.Generator) -> Half:
    import torch

    start = (random.random((num_words, size + 1), np.float32) - 0.5) / size
    return Half(torch.from_numpy(start), torch.ones(num_words, size + 1))
