"""What each attention head does, measured over many sentences: the mean weight that it gives to each kind of token.

previous, next, same     the token beside the one that looks, or that token itself (self-attention only)
diagonal                 source tokens at most one away from the same share of the text (attention to the source only)
first, last              the first token of the text (often the start token) and the last (often the end token)
punctuation              all tokens of punctuation together
spread                   entropy of the weights / log of their number: 1 = all tokens alike, 0 = one token

A decoder's own tokens are its prefix: `same` is the token that it has just read, and `next` does not exist.

    excess = (weight - even) / (1 - even),   even = the weight of a head that looks at all tokens alike

A head is named after the role with the largest excess, not the largest weight: in a short text every token gets much.
"""

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.explain.document import Head, Heads, Side
from seqloom.inside.attention import CROSS, SELF, by_layer
from seqloom.inside.subject import Lacks, Options, Parts, Subject
from seqloom.text.tokenizer import BLANK

Weights = NDArray[np.float32]  # (N, T, S)
CLEAR = 0.2  # a head has a role from this excess on,
SPREAD = 0.85  # or when it spreads this evenly


def heads(subject: Subject, options: Options) -> Parts:
    """The roles of every head, over the sample texts; without any, over this text alone."""
    samples = [*options.samples()] or [subject]
    names = [name for pattern in (SELF, CROSS) for name, _ in by_layer(subject, pattern)]
    if not names:
        raise Lacks("it has no attention heads")
    found = []
    for name in names:
        *each, even = mean_roles(name, samples)
        for number, roles in enumerate(each):
            layer = int(name.rpartition(".")[2])
            found.append(Head(name, layer, number, roles, best_role(roles, even)))
    notes = [] if options.samples() else ["heads: their roles are measured on this text alone; give --sentences"]
    return Parts(heads=Heads(len(samples), found), notes=notes)


def best_role(roles: dict[str, float], even: dict[str, float]) -> str:
    """The role with the largest excess over an even head, if that is clear; else "spread" or "mixed"."""
    excess = {name: (roles[name] - even[name]) / max(1e-6, 1 - even[name]) for name in roles if name != "spread"}
    name = max(excess, key=lambda name: excess[name], default="mixed")
    if excess.get(name, 0.0) >= CLEAR:
        return name
    return "spread" if roles.get("spread", 0.0) >= SPREAD else "mixed"


def mean_roles(name: str, samples: Sequence[Subject]) -> list[dict[str, float]]:
    """For each head the mean of each role, over all tokens that look and have such a token to look at.

    The last one is a head that looks at all tokens alike.
    """
    sums: dict[str, NDArray[np.float64]] = {}
    counts: dict[str, int] = {}
    for sample in samples:
        weights = with_even_head(name, sample.recorded[name])
        for role, given in roles_of(name, weights, tokens_looked_at(name, sample)):
            sums[role] = sums.get(role, np.zeros(len(weights))) + given.sum(1)
            counts[role] = counts.get(role, 0) + given.shape[1]
    means = {role: total / counts[role] for role, total in sums.items() if counts[role]}
    num = max(len(each) for each in means.values())
    return [{role: float(mean[head]) for role, mean in means.items()} for head in range(num)]


def with_even_head(name: str, weights: Weights) -> Weights:
    """The heads and one more, which gives the same weight to every token it may look at."""
    even = np.ones_like(weights[:1])
    if looks_back(name, weights):
        even = np.tril(even)
    return np.concatenate([weights, even / even.sum(-1, keepdims=True)])


def looks_back(name: str, weights: Weights) -> bool:
    """Whether no token looks at a later one: a decoder, and the prompt of a decoder-only model."""
    causal = weights.shape[1] > 1 and not np.triu(weights[0], 1).any()
    return name.startswith("decoder.self") or (".self." in name and causal)


def roles_of(name: str, weights: Weights, pieces: list[str]) -> Iterator[tuple[str, Weights]]:
    """The weight that each head (N) of each looking token (T') gives to a role; only tokens that can."""
    length, width = weights.shape[1:]
    back = looks_back(name, weights)
    rows = np.arange(length)
    if ".self." in name:
        yield "previous", weights[:, rows[1:], rows[:-1]]
        if not back:
            yield "next", weights[:, rows[:-1], rows[1:]]
        yield "same", weights[:, rows, rows]
        yield "first", weights[:, 1:, 0]
    else:
        straight = rows * (width - 1) / max(1, length - 1)
        near = np.abs(np.arange(width) - straight[:, None]) <= 1
        yield "diagonal", (weights * near).sum(-1)
        yield "first", weights[:, :, 0]
    if not back:
        yield "last", weights[:, :, -1]
    marks = np.array([is_punctuation(piece) for piece in pieces])
    if marks.any():
        visible = weights[..., marks].sum(-1)
        yield "punctuation", visible[:, np.argmax(marks) :] if back else visible
    yield "spread", evenness(weights, back)


def evenness(weights: Weights, back: bool) -> Weights:
    """Entropy over its largest possible value, (N, T'); tokens that see only one token are left out."""
    entropy = -(weights * np.log(np.maximum(weights, 1e-12))).sum(-1)
    length, width = weights.shape[1:]
    seen = np.arange(1, length + 1) if back else np.full(length, width)
    several = seen > 1
    return np.asarray(entropy[:, several] / np.log(seen[several]), np.float32)


def tokens_looked_at(name: str, subject: Subject) -> list[str]:
    """The pieces along the last axis of a map."""
    if name.startswith("decoder.self"):
        return ["", *pieces_of(subject.target)][: len(subject.read_ids)]  # first the start token
    return pieces_of(subject.source)


def pieces_of(side: Side | None) -> list[str]:
    """Pieces of a text; special tokens, which have no characters, are empty."""
    return [token.piece if token.span else "" for token in side.tokens] if side else []


def is_punctuation(piece: str) -> bool:
    letters = piece.replace(BLANK, "")
    return bool(letters) and all(unicodedata.category(letter).startswith("P") for letter in letters)
