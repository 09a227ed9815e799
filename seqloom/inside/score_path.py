"""The path from average words to the text: how the score of each prediction changes on it, and where to split it.

f_t(alpha) = log p(y_t) with every embedding at b + alpha (x - b). A forward pass gives it for all predictions at once,
a gradient costs a backward pass for each prediction. So the path is read without gradients first, more closely where
a score changes, and split where a Gauss sum of its slopes would miss the change; only then are gradients taken.
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.inside.input_gradients import Question, log_probs

START = 16  # steps of equal length that are read first
CHANGE = 0.5  # nats: a step in which a score changes by more is halved
FINEST = 1 / 512  # of the path: no step is shorter
SHARE = 0.5  # of what a prediction may miss is planned for: gradients of single tokens change faster than their sum
Stretch = tuple[int, float, float]  # a prediction and the start and end of a piece of its path


class ScorePath:
    """log p of every prediction at points of the path."""

    def __init__(self, question: Question, most: int) -> None:
        """Read the path, at `most` points where they are more than the first ones."""
        self.question = question
        self.known: dict[float, NDArray[np.float64]] = {}
        new = np.linspace(0.0, 1.0, START + 1).tolist()
        while new:
            self.read(new)
            at = sorted(self.known)
            steps = [(u, v) for u, v in pairwise(at) if v - u > FINEST]
            steps.sort(key=lambda step: -self.largest_change(*step))
            halved = steps[: max(0, most - len(at))]
            new = [(u + v) / 2 for u, v in halved if self.largest_change(u, v) > CHANGE]

    def read(self, points: Iterable[float]) -> None:
        new = sorted({*points} - self.known.keys())
        if new:
            self.known |= zip(new, log_probs(self.question, torch.tensor(new)).double().numpy(), strict=True)

    def largest_change(self, start: float, end: float) -> float:
        return float(np.abs(self.known[end] - self.known[start]).max())

    def change(self, answer: int, start: float, end: float) -> float:
        """The exact change of the score of a prediction between two points that were read."""
        return float(self.known[end][answer] - self.known[start][answer])


class Plan:
    """The pieces of one prediction's path, halved where the slopes between the points read say so."""

    def __init__(self, path: ScorePath, answer: int, allowed: float, rule: tuple[list[float], list[float]]) -> None:
        self.nodes, self.weights = map(np.array, rule)
        self.at = np.array(sorted(path.known))
        self.scores = np.array([path.known[at][answer] for at in self.at])
        self.middles, self.slopes = (self.at[1:] + self.at[:-1]) / 2, np.diff(self.scores) / np.diff(self.at)
        self.answer, self.allowed = answer, allowed * SHARE
        self.pieces = [(self.gap(0.0, 1.0), 0.0, 1.0)]

    def gap(self, start: float, end: float) -> float:
        """By how much a Gauss sum over this piece would miss the change of the score."""
        slopes = np.interp(start + self.nodes * (end - start), self.middles, self.slopes)
        first, last = np.interp([start, end], self.at, self.scores)
        return abs(float((end - start) * (self.weights @ slopes) - (last - first)))

    @property
    def excess(self) -> float:
        """How many times more than allowed all pieces together would miss."""
        return sum(gap for gap, _, _ in self.pieces) / self.allowed

    def halve(self) -> bool:
        """Halve the piece that misses most; False: it is as short as the finest step."""
        worst = max(self.pieces)
        _, start, end = worst
        if end - start <= FINEST:
            return False
        self.pieces.remove(worst)
        middle = (start + end) / 2
        self.pieces += [(self.gap(start, middle), start, middle), (self.gap(middle, end), middle, end)]
        return True


def plan(path: ScorePath, allowed: list[float], rule: tuple[list[float], list[float]], most: int) -> list[Stretch]:
    """Pieces for all predictions, `most` together; those that would miss most are halved first."""
    plans = [Plan(path, answer, share, rule) for answer, share in enumerate(allowed)]
    unfinished = [(one.excess, one) for one in plans]
    for _ in range(most - len(plans)):
        excess, one = max(unfinished, key=lambda pair: pair[0], default=(0.0, None))
        if one is None or excess <= 1:
            break
        unfinished.remove((excess, one))
        if one.halve():
            unfinished.append((one.excess, one))
    return [
        (one.answer, start, end) for one in plans for _, start, end in sorted(one.pieces, key=lambda piece: piece[1])
    ]
