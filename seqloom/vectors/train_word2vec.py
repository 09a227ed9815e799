"""word2vec by stochastic gradient descent: theta <- theta - eta * dJ/dtheta, with eta decaying linearly to 0.

A batch sums many gradients that were computed independently. For a word that occurs very often in a batch, this sum
would overshoot and training would diverge: the learning rate of such a word is reduced in proportion.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqloom.vectors.cbow import cbow_gradients, cbow_loss
from seqloom.vectors.context_windows import Blocks, Gradients, WindowMaker, Windows
from seqloom.vectors.settings import Progress, VectorSettings
from seqloom.vectors.skipgram import skip_gram_gradients, skip_gram_loss
from seqloom.vectors.team import Team
from seqloom.vectors.word2vec import keep_chances, noise_table
from seqloom.vectors.words import WordCorpus

if TYPE_CHECKING:
    from torch import Tensor

Numbers = NDArray[np.float64]  # (V,)


@dataclass(frozen=True)
class Objective:
    """What skip-gram and CBOW differ in."""

    loss: "Callable[[Windows, Tensor, Tensor, int], tuple[Tensor, Tensor]]"
    gradients: "Callable[[Windows, Tensor, Tensor, int], Gradients]"
    first_rate: float  # eta
    by_pair: bool  # each context word makes a pair of its own
    noise: int  # noise words per word: with 1 instead of 2, skip-gram answers fewer analogies (8.4 instead of 9.2 %)


OBJECTIVES = {
    "skipgram": Objective(skip_gram_loss, skip_gram_gradients, 0.035, by_pair=True, noise=2),
    "cbow": Objective(cbow_loss, cbow_gradients, 0.1, by_pair=False, noise=1),
}
LAST_RATE = 1e-4  # as a share of the first
FARTHEST = 10.0  # limit of eta times the number of gradients of one vector in a batch; training diverged at 25
CROWDED = 3.0  # the most frequent word may exceed that limit by this factor, at a reduced learning rate
MOST_BLOCKS = 128  # fits into the cache
LEAST_BLOCKS = 8  # per thread: fewer are done before the thread has started
LOSS_EVERY = 100  # batches


def train_word2vec(corpus: WordCorpus, settings: VectorSettings, team: Team, progress: Progress) -> NDArray[np.float32]:
    """Train word2vec; returns the vectors v, (V, E)."""
    import torch

    objective = OBJECTIVES[settings.method]
    randoms = [np.random.default_rng((settings.seed, part)) for part in range(team.size)]
    maker = make_windows(corpus, settings)
    V, E = len(corpus.words), settings.size
    v = torch.from_numpy((randoms[0].random((V + 1, E), np.float32) - 0.5) / E)
    u = torch.zeros(V + 1, E)
    slow_v, slow_u = slowed(maker, settings)

    def work(blocks: Blocks, random: np.random.Generator) -> tuple[Windows, Gradients]:
        windows = maker.draw(blocks, random)
        return windows, objective.gradients(windows, v, u, settings.negative)

    shown: dict[str, float] = {}
    for epoch in range(settings.rounds):
        for number, (share, blocks) in enumerate(maker.batches(randoms[0])):
            found = team.do([partial(work, *part) for part in zip(split(blocks, team.size), randoms, strict=False)])
            done = (epoch + share) / settings.rounds
            if number % LOSS_EVERY == 0:
                total, pairs = objective.loss(found[0][0], v, u, settings.negative)
                shown = {"loss": float(total / pairs.clamp(min=1))}
                progress(int(done * settings.rounds * len(corpus.ids)), shown)
            rate = objective.first_rate * max(LAST_RATE, 1 - done)
            of_v = [rows for _, part in found for rows in part.of_v]
            of_u = [rows for _, part in found for rows in part.of_u]
            team.do([partial(descend, v, of_v, slow_v, rate), partial(descend, u, of_u, slow_u, rate)])
    progress(settings.rounds * len(corpus.ids), shown)
    return v[:V].numpy()


def split(blocks: Blocks, parts: int) -> list[Blocks]:
    """Split blocks into so many parts of nearly equal size, or fewer if there are few blocks."""
    ids, texts = blocks
    parts = max(1, min(parts, len(ids) // LEAST_BLOCKS))
    return [*zip(np.array_split(ids, parts), np.array_split(texts, parts), strict=True)]


def descend(table: "Tensor", rows: "list[tuple[Tensor, Tensor]]", slow: "Tensor", rate: float) -> None:
    """One step of gradient descent; `slow` (V + 1, 1) is the factor of each word's learning rate."""
    for ids, gradient in rows:
        index = ids.flatten()
        step = gradient.flatten(0, 1).mul_(slow.index_select(0, index).mul_(-rate))
        table.scatter_add_(0, index[:, None].expand_as(step), step)


def make_windows(corpus: WordCorpus, settings: VectorSettings) -> WindowMaker:
    """The window maker, with a block size that is fast and a batch size at which training is stable."""
    window, keep = settings.reach, keep_chances(corpus.counts)
    block_size = max(16, 3 * window)
    maker = WindowMaker(
        corpus,
        keep,
        noise_table(corpus.counts),
        window,
        block_size,
        num_noise=max(OBJECTIVES[settings.method].noise * block_size, settings.negative),
        blocks_at_once=1,
    )
    most = max(float(number.max()) for number in gradients_of_a_block(maker, settings))
    blocks = CROWDED * FARTHEST / OBJECTIVES[settings.method].first_rate / most
    return replace(maker, blocks_at_once=int(min(max(1, blocks), MOST_BLOCKS)))


def gradients_of_a_block(maker: WindowMaker, settings: VectorSettings) -> tuple[Numbers, Numbers]:
    """Mean number of gradients per block for each vector v and for each vector u."""
    kept = maker.keep * maker.corpus.counts
    share = kept / kept.sum()
    noise_share = np.bincount(maker.noise, minlength=len(share)) / len(maker.noise)
    pairs = maker.block_size * (maker.window + 1 if OBJECTIVES[settings.method].by_pair else 1)
    return pairs * share * (1 + settings.negative), pairs * (share + settings.negative * noise_share)


def slowed(maker: WindowMaker, settings: VectorSettings) -> "list[Tensor]":
    """Factors of the learning rate of each word, (V + 1, 1), for v and for u: 1 for all but the most frequent words."""
    import torch

    safe = FARTHEST / OBJECTIVES[settings.method].first_rate / maker.blocks_at_once
    factors = [np.minimum(1, safe / np.append(number, 1e-9)) for number in gradients_of_a_block(maker, settings)]
    return [torch.from_numpy(factor.astype(np.float32)[:, None]) for factor in factors]
