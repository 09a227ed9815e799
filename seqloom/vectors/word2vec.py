"""word2vec: equations of skip-gram and CBOW with negative sampling (Mikolov et al. 2013).

Every word has two vectors: v as an input, u as an output (predicted word). For a word c and a context word o,

    J(c, o) = -log sigma(u_o . v_c) - K * E_{n ~ P} [log sigma(-u_n . v_c)]        P(n) ~ count(n)^0.75

Skip-gram reads c and predicts each o in its context; CBOW reads the mean v of the context and predicts the word.
The window size is drawn for each word, from 1 to the window. Frequent words are subsampled: w is kept with probability

    keep(w) = min(1, sqrt(t / f(w)) + t / f(w)),  f(w) its share of the text,  t = 0.001

This file has the equations for one pair. Training uses skipgram.py and cbow.py: the same sums for many words at once.
"""

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 1e-3  # t
NOISE_POWER = 0.75
TABLE_SIZE = 1 << 20

Vector = NDArray[np.float64]


def keep_chances(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """keep(w), the probability of keeping each word in subsampling."""
    t_over_f = THRESHOLD * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(t_over_f) + t_over_f).astype(np.float32)


def noise_table(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Table of ids in proportion to P, each at least once: drawing from P is one look-up."""
    weights = counts**NOISE_POWER
    times = np.maximum(1, np.round(weights / weights.sum() * max(TABLE_SIZE, 4 * len(counts)))).astype(np.int64)
    return np.repeat(np.arange(len(counts), dtype=np.int32), times)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


def pair_loss(v: Vector, u: Vector, noise: NDArray[np.float64], negative: float) -> float:
    """J for one pair; the mean over the rows of `noise` estimates the expectation."""
    return float(-np.log(sigmoid(u @ v)) - negative * np.log(sigmoid(-noise @ v)).mean())


def pair_gradients(
    v: Vector, u: Vector, noise: NDArray[np.float64], negative: float
) -> tuple[Vector, Vector, NDArray[np.float64]]:
    """dJ/dv, dJ/du, dJ/dnoise: the error of each score times the other vector."""
    wrong = sigmoid(u @ v) - 1  # the target of a pair of the text is 1
    wrong_noise = negative / len(noise) * sigmoid(noise @ v)  # (M,), the target of noise is 0
    return wrong * u + wrong_noise @ noise, wrong * v, np.outer(wrong_noise, v)
