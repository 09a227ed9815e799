"""word2vec: a word is known by the words around it (Mikolov et al. 2013).

Every word has two vectors, v as one that is read and u as one that is predicted. For a word c and one o near it,

    J(c, o) = -log sigma(u_o . v_c) - K * E_{n ~ P} [log sigma(-u_n . v_c)]        P(n) ~ count(n)^0.75

skip-gram reads c and predicts each o around it; CBOW reads the mean of the v around a word and predicts the word.
How far "around" reaches is drawn for each word, from 1 to the window. A frequent word w stands in the text with chance

    keep(w) = min(1, sqrt(t / f(w)) + t / f(w)),  f(w) its share of the text,  t = 0.001

This file is the equations. What trains is skipgram.py and cbow.py: the same sums for many words at once.
"""

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 1e-3  # t
NOISE_POWER = 0.75
TABLE_SIZE = 1 << 20

Vector = NDArray[np.float64]


def keep_chances(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """keep(w) for every word."""
    t_over_f = THRESHOLD * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(t_over_f) + t_over_f).astype(np.float32)


def noise_table(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Ids in proportion to P, each at least once: a draw from P is one look-up."""
    weights = counts**NOISE_POWER
    times = np.maximum(1, np.round(weights / weights.sum() * max(TABLE_SIZE, 4 * len(counts)))).astype(np.int64)
    return np.repeat(np.arange(len(counts), dtype=np.int32), times)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


def pair_loss(v: Vector, u: Vector, noise: NDArray[np.float64], negative: float) -> float:
    """J for one pair; the mean over the rows of `noise` stands for the expectation."""
    return float(-np.log(sigmoid(u @ v)) - negative * np.log(sigmoid(-noise @ v)).mean())


def pair_gradients(
    v: Vector, u: Vector, noise: NDArray[np.float64], negative: float
) -> tuple[Vector, Vector, NDArray[np.float64]]:
    """dJ/dv, dJ/du, dJ/dnoise: how wrong each score is, times the other vector."""
    wrong = sigmoid(u @ v) - 1  # a pair of the text should score 1
    wrong_noise = negative / len(noise) * sigmoid(noise @ v)  # (M,), noise 0
    return wrong * u + wrong_noise @ noise, wrong * v, np.outer(wrong_noise, v)
