"""Integrated gradients: the part of log p(prediction) that came from each token, on a path that is split where needed.

    a_ts = (x_s - b) . integral_0^1 (d f_t / d x_s)(b + alpha (x - b)) d alpha            Sundararajan et al. 2017

f_t = log p(y_t); b is the mean of the embedding table, an average word. The sum over all tokens is f_t(x) - f_t(b). The
same holds for each piece [u, v] of the path, so each piece shows by itself whether its sum is right:

    gap[u, v] = | sum_s a_ts[u, v]  -  (f_t(v) - f_t(u)) |

A prediction may miss its change by GAP. A piece with more than its share of that, GAP / pieces, is halved: when none is
left, all gaps together are below GAP. The sum of a piece is a Gauss-Lobatto sum. Its points include both ends, so
it also reads f_t(u) and f_t(v). The worst pieces of all predictions go first, until the work is too much.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.polynomial import Legendre
from torch import Tensor

from seqloom.inside.input_gradients import MOST_ROWS, Question, differentiate

POINTS = 8  # per piece
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
    def halves(self) -> list[tuple[int, float, float]]:
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
    pieces = measure(question, [(answer, 0.0, 1.0) for answer in range(len(question.answers))])
    changes = [piece.change for piece in pieces]
    allowed = [GAP * max(1.0, abs(change)) for change in changes]
    sides = [len(question.source), len(question.prefix)]
    left = MOST_WORK // (sum(sides) * POINTS) - len(pieces)  # pieces that may still be measured
    while True:
        counts = Counter(piece.answer for piece in pieces)
        pieces.sort(key=lambda piece: piece.gap, reverse=True)
        over = [at for at, one in enumerate(pieces) if one.gap > allowed[one.answer] / counts[one.answer]]
        halved = set(over[: max(0, left // 2)])
        if not halved:
            break
        halves = [half for at in sorted(halved) for half in pieces[at].halves]
        pieces = [piece for at, piece in enumerate(pieces) if at not in halved] + measure(question, halves)
        left -= len(halves)
    total = pieces[0].tokens.new_zeros(len(changes), sum(sides))
    for piece in pieces:
        total[piece.answer] += piece.tokens
    points = [POINTS * counts[answer] for answer in range(len(changes))]
    gaps = [abs(float(row.sum()) - change) for row, change in zip(total, changes, strict=True)]
    complete = all(gap <= most for gap, most in zip(gaps, allowed, strict=True))
    source, prefix = total.split(sides, dim=1)
    return Integrated(source, prefix, gaps, points, complete)


def measure(question: Question, wanted: list[tuple[int, float, float]]) -> list[Piece]:
    """The pieces (prediction, start, end), many of them in one pass through the model."""
    nodes, weights = lobatto(POINTS)
    share = torch.tensor(weights, dtype=torch.float32)
    pieces: list[Piece] = []
    for at in range(0, len(wanted), MOST_ROWS // POINTS):
        some = wanted[at : at + MOST_ROWS // POINTS]
        rows = [(answer, start + node * (end - start)) for answer, start, end in some for node in nodes]
        found = differentiate(question, rows)
        tokens = []
        for gradient, embedding in zip((found.source, found.prefix), found.embeddings, strict=True):
            mean = torch.einsum("p, bpse -> bse", share.to(gradient), gradient.unflatten(0, (-1, POINTS)))
            tokens.append(((embedding[POINTS - 1 :: POINTS] - embedding[::POINTS]) * mean).sum(-1))
        changes = found.log_prob[POINTS - 1 :: POINTS] - found.log_prob[::POINTS]
        rest = zip(some, torch.cat(tokens, 1), changes.tolist(), strict=True)
        pieces += [Piece(*one, added, change) for one, added, change in rest]
    return pieces


def lobatto(points: int) -> tuple[list[float], list[float]]:
    """Nodes and weights of Gauss and Lobatto on [0, 1]: both ends and the roots of P', w = 1 / (n (n - 1) P(x)^2).

    P is the Legendre polynomial of degree n - 1. The sum is exact for polynomials up to degree 2 n - 3.
    """
    legendre = Legendre.basis(points - 1)
    nodes = np.array([-1.0, *np.sort(legendre.deriv().roots().real), 1.0])
    weights = 1 / (points * (points - 1) * legendre(nodes) ** 2)
    return ((nodes + 1) / 2).tolist(), weights.tolist()
