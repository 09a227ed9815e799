"""Two-dimensional picture of word vectors: positions by PCA, clusters by k-means.

    PCA       X - mean = U S V^T,  point = (X - mean) V_1..2,  share of the variance S_k^2 / sum S^2    (Pearson 1901)
    k-means   centre <- mean of the words that are nearest to it, repeated until nothing changes       (Lloyd 1957)

Vectors are scaled to length 1, so that near means a high cosine. A cluster is named after the word nearest its centre.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError
from seqloom.vectors.word_vectors import WordVectors

FEWEST = 3  # words needed for a picture
ROUNDS = 100
STARTS = 5  # random starts of k-means; the best result is kept
Clustering = tuple[NDArray[np.int64], NDArray[np.float64]]  # the cluster of each row (n,), the centres (k, E)


@dataclass(frozen=True)
class Picture:
    """Words with their points in the plane and their clusters."""

    words: list[str]
    places: NDArray[np.float64]  # (n, 2) points in the plane
    shares: tuple[float, float]  # share of the variance that each direction shows
    clusters: list[int]  # the cluster of each word
    names: list[str]  # the name of each cluster
    neighbours: list[list[str]]  # nearest neighbours of each word, among all words of the file


def make_picture(vectors: WordVectors, words: Sequence[str], clusters: int, seed: int = 1, near: int = 5) -> Picture:
    """The picture of these words; `near`: how many neighbours to list per word."""
    rows = list(dict.fromkeys(vectors.find(word) for word in words))
    if len(rows) < FEWEST:
        raise UsageError(f"a picture needs at least {FEWEST} words, got {len(rows)}.")
    X = vectors.unit[rows].astype(np.float64)
    places, shares = project(X)
    cluster_of, centres = k_means(X, min(clusters, len(rows)), np.random.default_rng(seed))
    shown = [vectors.words[row] for row in rows]
    names = []
    for number, centre in enumerate(centres):
        members = np.flatnonzero(cluster_of == number)
        names.append(shown[members[np.argmin(((X[members] - centre) ** 2).sum(1))]])
    neighbours = [[word for word, _ in vectors.nearest(word, near)] for word in shown]
    return Picture(shown, places, shares, cluster_of.tolist(), names, neighbours)


def project(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """PCA: the points on the first two principal components, and the shares of the variance they show."""
    centred = X - X.mean(0)
    _, S, Vt = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(X), 2))
    shown = min(2, len(Vt))  # vectors of width 1 have only one direction
    # The sign of a direction is arbitrary: choose it so that the word farthest out is on the right, or on top.
    found = centred @ Vt[:shown].T
    farthest = found[np.abs(found).argmax(0), np.arange(shown)]
    places[:, :shown] = found * np.where(farthest < 0, -1.0, 1.0)
    shares = np.zeros(2)
    shares[:shown] = S[:shown] ** 2 / max(float((S**2).sum()), 1e-30)
    return places, (float(shares[0]), float(shares[1]))


def k_means(X: NDArray[np.float64], k: int, random: np.random.Generator) -> Clustering:
    """k-means, the best of several starts: the cluster of each row, and the centres; no cluster is empty."""
    found = [one_k_means(X, k, random) for _ in range(STARTS)]
    return min(found, key=lambda tried: float(((X - tried[1][tried[0]]) ** 2).sum()))


def one_k_means(X: NDArray[np.float64], k: int, random: np.random.Generator) -> Clustering:
    centres = first_centres(X, k, random)
    cluster_of = np.full(len(X), -1)
    for _ in range(ROUNDS):
        before, cluster_of = cluster_of, distances(X, centres).argmin(1)
        if (before == cluster_of).all():
            break
        used = np.unique(cluster_of)  # drops empty clusters
        cluster_of = np.searchsorted(used, cluster_of)
        centres = np.stack([X[cluster_of == number].mean(0) for number in range(len(used))])
    return cluster_of, centres


def first_centres(X: NDArray[np.float64], k: int, random: np.random.Generator) -> NDArray[np.float64]:
    """k-means++: first centres far apart, drawn in proportion to squared distance (Arthur and Vassilvitskii 2007)."""
    chosen = [int(random.integers(len(X)))]
    while len(chosen) < k:
        far = distances(X, X[chosen]).min(1)
        if not far.sum():
            break  # there are fewer than k different vectors
        chosen.append(int(random.choice(len(X), p=far / far.sum())))
    return X[chosen]


def distances(X: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances (n, k)."""
    squares = ((X[:, None] - centres[None]) ** 2).sum(2)
    return np.asarray(squares)
