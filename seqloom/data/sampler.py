"""Plan which pairs make batch i of epoch e: a pure function of the seed, so that training can resume anywhere.

Pairs are sorted by their lengths on both sides, ties in random order, and cut into batches that keep the token budget:

    rows * (longest source + 1) <= batch_tokens   and   rows * (longest target + 1) <= batch_tokens

(+ 1 for the end of sentence); then the batches are shuffled. Rows of one batch are alike on both sides: little padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError

Indices = NDArray[np.integer]


@dataclass(frozen=True)
class Plan:
    """The batches of one epoch: plan[i] are the indices of the pairs in batch i."""

    rows: NDArray[np.uint32]  # all pairs of the epoch, sorted by length
    cuts: NDArray[np.int64]  # batch b is rows[cuts[b] : cuts[b + 1]]
    order: NDArray[np.int64]  # the shuffled batches

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, index: int) -> NDArray[np.int64]:
        batch = self.order[index]
        return self.rows[self.cuts[batch] : self.cuts[batch + 1]].astype(np.int64)


class Sampler:
    """Makes batches by token budget. A corpus of weight 2 is read twice per epoch, one of 0.5 half by half in turn."""

    def __init__(
        self,
        source_lengths: Indices,
        target_lengths: Indices,
        batch_tokens: int,
        seed: int,
        corpora: Indices | None = None,
        weights: Sequence[float] = (),
    ) -> None:
        self.source_lengths, self.target_lengths = source_lengths, target_lengths
        self.batch_tokens, self.seed = batch_tokens, seed
        self.corpora = corpora if any(weight != 1 for weight in weights) else None
        self.weights = weights
        longest = 1 + max(int(source_lengths.max(initial=0)), int(target_lengths.max(initial=0)))
        if longest > batch_tokens:
            raise UsageError(
                f"train.batch_tokens = {batch_tokens} cannot hold the longest pair, {longest} tokens with the end of "
                "sentence; raise it or lower data.max_tokens"
            )

    def epoch(self, epoch: int) -> Plan:
        """Return the plan of this pass over the data."""
        random = np.random.default_rng([self.seed, epoch])
        pairs = self._drawn(epoch)
        source, target = self.source_lengths[pairs], self.target_lengths[pairs]
        places = sort_by_length(source, target, random)
        cuts = cut_batches((np.maximum(source, target) + 1)[places], self.batch_tokens)
        return Plan(pairs[places], cuts, random.permutation(len(cuts) - 1))

    def _drawn(self, epoch: int) -> NDArray[np.uint32]:
        """Return each pair as often as the weight of its corpus says."""
        if self.corpora is None:
            return np.arange(len(self.source_lengths), dtype=np.uint32)
        drawn = []
        for corpus, weight in enumerate(self.weights):
            pairs = np.flatnonzero(self.corpora == corpus).astype(np.uint32)
            whole = int(weight)
            drawn += [pairs] * whole + [self._turn(pairs, corpus, weight - whole, epoch)]
        return np.concatenate(drawn)

    def _turn(self, pairs: NDArray[np.uint32], corpus: int, share: float, epoch: int) -> NDArray[np.uint32]:
        """Return the next `share` of a corpus, in a fixed random cycle: no pair twice before every pair came once."""
        begin, end = (int(number * share * len(pairs)) for number in (epoch, epoch + 1))
        circle = np.random.default_rng([self.seed, corpus]).permutation(pairs)
        return circle.take(np.arange(begin, end), mode="wrap")


def sort_by_length(source: Indices, target: Indices, random: np.random.Generator) -> Indices:
    """Places by width = max(source, target), then by source - target, up and down in turn; equals in random order.

    key = (width, difference, random, place) in one number: all keys differ, so that any sort gives the same order.
    """
    number = len(source)
    keys = np.maximum(source, target).astype(np.int64)
    most = int(keys.max(initial=0))
    snake = np.where(keys % 2 == 0, source - target, target - source)  # neighbours stay alike where the width changes
    keys *= 2 * most + 1
    keys += snake + most
    spare = min((1 << 63) // (number * (int(keys.max(initial=0)) + 1) + 1), 1 << 32)
    keys *= spare
    keys += random.integers(0, spare, number)
    keys *= number
    keys += np.arange(number)
    keys.sort()
    keys %= max(1, number)
    return keys


def cut_batches(widths: Indices, batch_tokens: int) -> NDArray[np.int64]:
    """Cut rows of rising width into batches as full as the budget allows; the last two share their rows evenly."""
    counts = np.arange(1, batch_tokens + 1)
    cuts = [0]
    while cuts[-1] < len(widths):
        begin = cuts[-1]
        window = widths[begin : begin + batch_tokens // int(widths[begin])]  # no batch can have more rows than this
        cells = window * counts[: len(window)]
        cuts.append(begin + int(np.searchsorted(cells, batch_tokens, "right")))
    if len(cuts) > 2:  # a tiny last batch would make one noisy step
        half = (cuts[-1] - cuts[-3]) // 2
        cuts[-2] = min(cuts[-2], cuts[-1] - min(half, batch_tokens // int(widths[-1])))
    return np.array(cuts)


def padding_share(plan: Plan, source_lengths: Indices, target_lengths: Indices) -> float:
    """Return the share of padding in the cells of an epoch's batches, both sides together."""
    real = cells = 0
    for index in range(len(plan)):
        rows = plan[index]
        for lengths in (source_lengths[rows] + 1, target_lengths[rows] + 1):
            real += int(lengths.sum())
            cells += len(rows) * int(lengths.max())
    return 1 - real / max(1, cells)
