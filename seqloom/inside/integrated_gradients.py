"""Integrated gradients: the part of log p(prediction) that came from each token, on a path that is split where needed.

    a_ts = (x_s - b) . integral_0^1 (d f_t / d x_s)(b + alpha (x - b)) d alpha            Sundararajan et al. 2017

f_t = log p(y_t); b is the mean of the embedding table, an average word. The sum over all tokens is f_t(x) - f_t(b). The
same holds for each piece [u, v] of the path, so each piece shows by itself whether its sum is right:

    gap[u, v] = | sum_s a_ts[u, v]  -  (f_t(v) - f_t(u)) |

A prediction may miss its change by GAP. Its pieces are planned from scores alone (score_path.py); then each gets a
Gauss sum of gradients. While the gaps of a prediction together are above GAP, those with more than their share are
halved, the worst pieces of all predictions first, until the work is too much.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.inside.input_gradients import Question, batches, differentiate
from seqloom.inside.score_path import ScorePath, Stretch, plan

POINTS = 4  # per piece
MOST_WORK = 120_000  # tokens read in all rows; about 20 seconds for a small Transformer
GAP = 0.05  # of the change of the score (at least of 1 nat): the sum may miss it by this much


@dataclass(frozen=True)
class Piece:
    """The path of one prediction from `start` to `end`: what each token adds to its score, and the real change."""

    answer: int
    start: float
    end: float
    tokens: Float[Tensor, " N"]  # source, then prefix
    change: float

    @property
    def gap(self) -> float:
        return abs(float(self.tokens.sum()) - self.change)

    @property
    def halves(self) -> list[Stretch]:
        middle = (self.start + self.end) / 2
        return [(self.answer, self.start, middle), (self.answer, middle, self.end)]


@dataclass(frozen=True)
class Integrated:
    """Attributions to source and prefix per prediction, how far each sum is off (nats), and the points each took."""

    source: Float[Tensor, "R S"]
    prefix: Float[Tensor, "R T"]
    gaps: list[float]
    points: list[int]
    complete: bool  # every gap is within GAP


def integrate(question: Question) -> Integrated:
    """Integrated gradients of every prediction."""
    sides = [len(question.source), len(question.prefix)]
    path = ScorePath(question, MOST_WORK // (4 * sum(sides)))
    changes = [path.change(answer, 0.0, 1.0) for answer in range(len(question.answers))]
    allowed = [GAP * max(1.0, abs(change)) for change in changes]
    most = MOST_WORK // (sum(sides) * POINTS)
    pieces = measure(path, plan(path, allowed, gauss(POINTS), most))
    left = most - len(pieces)  # pieces that may still be measured
    while halved := set(to_halve(pieces, allowed)[: max(0, left // 2)]):
        halves = [half for at in sorted(halved) for half in pieces[at].halves]
        pieces = [piece for at, piece in enumerate(pieces) if at not in halved] + measure(path, halves)
        left -= len(halves)
    total = torch.zeros(len(changes), sum(sides), dtype=pieces[0].tokens.dtype)
    for piece in pieces:
        total[piece.answer] += piece.tokens
    counts = Counter(piece.answer for piece in pieces)
    points = [POINTS * counts[answer] for answer in range(len(changes))]
    gaps = [abs(float(row.sum()) - change) for row, change in zip(total, changes, strict=True)]
    complete = all(gap <= most for gap, most in zip(gaps, allowed, strict=True))
    source, prefix = total.split(sides, dim=1)
    return Integrated(source, prefix, gaps, points, complete)


def to_halve(pieces: list[Piece], allowed: list[float]) -> list[int]:
    """The pieces with more than their share of the gap of a prediction that misses too much, the worst first."""
    counts = Counter(piece.answer for piece in pieces)
    missed = np.zeros(len(allowed))
    for piece in pieces:
        missed[piece.answer] += piece.gap
    over = [
        at
        for at, one in enumerate(pieces)
        if missed[one.answer] > allowed[one.answer] and one.gap > allowed[one.answer] / counts[one.answer]
    ]
    return sorted(over, key=lambda at: -pieces[at].gap)


def measure(path: ScorePath, wanted: list[Stretch]) -> list[Piece]:
    """These pieces of the path, many of them in one pass through the model."""
    question = path.question
    path.read(end for _, *ends in wanted for end in ends)
    nodes, weights = gauss(POINTS)
    share = torch.tensor(weights, dtype=torch.float32)
    pieces: list[Piece] = []
    wanted = sorted(wanted, key=lambda one: question.answers[one[0]][0])  # a pass reads up to its last prediction
    for some in batches(wanted, POINTS):
        rows = [(answer, start + node * (end - start)) for answer, start, end in some for node in nodes]
        found = differentiate(question, rows)
        tokens = []
        for gradient, embedding in zip((found.source, found.prefix), found.embeddings, strict=True):
            mean = torch.einsum("p, bpse -> bse", share.to(gradient), gradient.unflatten(0, (-1, POINTS)))
            between = embedding[POINTS - 1 :: POINTS] - embedding[::POINTS]  # from the first node to the last
            tokens.append((between / (nodes[-1] - nodes[0]) * mean).sum(-1))
        added = torch.cat(tokens, 1)
        pieces += [Piece(*one, row, path.change(*one)) for one, row in zip(some, added, strict=True)]
    return pieces


def gauss(points: int) -> tuple[list[float], list[float]]:
    """Nodes and weights of Gauss and Legendre on [0, 1]; exact for polynomials up to degree 2 n - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()
