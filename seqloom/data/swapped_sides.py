"""Detect swapped lines: the source reads like a target, and the target reads like a source.

The evidence of a text x is the sum over its character trigrams, l(x) = sum_c log P_source(c) / P_target(c), with both
profiles learned from the first pairs of the file (naive Bayes; Cavnar and Trenkle 1994 for trigrams). A normal pair has
l(source) > 0 > l(target). Only a line that is clearly reversed on both sides is reported, and none is
when the sides are too alike to judge (the same language twice).

Where many lines are swapped, both profiles would be the same mixture. So the lines are turned to one direction first:
the differences of trigrams, source - target, of all pairs lie along one line, and the first singular vector of their
matrix gives each pair a sign. The direction of most lines counts, of half of them that of the first line.
"""

from collections.abc import Sequence

import numpy as np

from seqloom.data.letters import code_points

SAMPLE_CHARS = 4_000_000
SAMPLE_PAIRS = 65_536
SAMPLE_WORDS = 5000  # pairs whose words are counted
MIN_PAIRS = 200  # fewer are too few for a profile
BUCKETS = 1 << 18
JUDGED_CHARS = 100  # enough of a text to recognise its language
MIN_EVIDENCE = 12.0  # nats on each side, about 160,000 : 1
MIN_CLEAR = 0.95  # share of the sample whose two sides must agree on the direction
TURNED = 1500  # pairs that show whether many are swapped
TURNED_BUCKETS = 1 << 11
MANY = 0.2  # share of swapped lines from which the profiles are learned from turned lines


def trigrams(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the buckets of all trigrams of all texts, and where each text begins; line ends pad each text."""
    codes = code_points("\n\n" + "\n\n".join(texts) + "\n\n")
    mixed = codes[:-2] * np.uint32(961) + codes[1:-1] * np.uint32(31) + codes[2:]
    buckets = (mixed * np.uint32(2654435761)) >> np.uint32(32 - 18)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 2
    return buckets, np.cumsum(lengths) - lengths


FUNCTION_WORDS = {
    "en": "the of and to in is that it was with you are this have",
    "fr": "le la les des et est une dans que pour qui sur il au",
    "de": "der die und das ist nicht ein eine mit den zu ich auf dem",
    "es": "el los las y es una que por con para del se lo su",
    "it": "il di che è per un una non gli con della sono nel ha",
    "pt": "o os as e é um uma não que com do da em no",
    "nl": "het een van en is dat niet zijn op te met voor aan ik",
}


def looks_exchanged(sources: Sequence[str], targets: Sequence[str], languages: tuple[str, str]) -> bool:
    """Whether the source has the function words of the target language, and the target those of the source language."""
    if len(sources) < MIN_PAIRS or languages[0] == languages[1] or not FUNCTION_WORDS.keys() >= set(languages):
        return False
    own, other = (set(FUNCTION_WORDS[language].split()) for language in languages)
    shares = []
    for side in (sources, targets):
        words = " ".join(side[:SAMPLE_WORDS]).lower().split()
        shares.append([sum(word in known for word in words) for known in (own - other, other - own)])
    return shares[0][1] > 3 * shares[0][0] and shares[1][0] > 3 * shares[1][1]


class Direction:
    """Learns a profile of each side, and finds the lines that contradict both."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self.judges = len(sources) >= MIN_PAIRS
        if not self.judges:
            return
        turned = turned_pairs(sources, targets)
        if turned:
            sources, targets = turned
        rates = [np.bincount(trigrams(side)[0], minlength=BUCKETS) for side in (sources, targets)]
        unseen = 2.0 / min(rate.sum() for rate in rates)
        odds = [rate / rate.sum() + unseen for rate in rates]
        self.log_odds = np.log(odds[0] / odds[1]).astype(np.float32)
        clear = np.mean((self.evidence(sources) > 0) == (self.evidence(targets) < 0))
        self.judges = bool(clear >= MIN_CLEAR)

    def evidence(self, texts: Sequence[str]) -> np.ndarray:
        """Return l(x) of the beginning of each text: above 0 it reads like a source, below 0 like a target."""
        buckets, starts = trigrams([text[:JUDGED_CHARS] for text in texts])
        return np.add.reduceat(self.log_odds[buckets], starts)

    def swapped(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """Return the indexes of the pairs that were probably swapped."""
        if not self.judges:
            return np.empty(0, np.int64)
        return np.flatnonzero((self.evidence(sources) < -MIN_EVIDENCE) & (self.evidence(targets) > MIN_EVIDENCE))


def turned_pairs(sources: Sequence[str], targets: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return some pairs, all in one direction, if many of them are swapped; None if few are, or it is not clear.

    It is clear if profiles from every second pair judge both sides of nearly all the others alike.
    """
    pairs = [(s[:JUDGED_CHARS], t[:JUDGED_CHARS]) for s, t in zip(sources[:TURNED], targets[:TURNED], strict=True)]
    sides = [shares([pair[side] for pair in pairs]) for side in (0, 1)]
    difference = sides[0] - sides[1]
    v = np.random.default_rng(1).standard_normal(TURNED_BUCKETS, dtype=np.float32)
    for _ in range(20):
        v = difference.T @ (difference @ v)
        v /= max(float(np.linalg.norm(v)), 1e-12)
    signs = np.sign(difference @ v)
    balance = signs.sum() or next((sign for sign in signs if sign), 1.0)
    straight = signs * balance >= 0
    if (~straight).mean() < MANY:
        return None
    turned = np.where(straight[:, None], sides[0], sides[1]), np.where(straight[:, None], sides[1], sides[0])
    log_odds = np.log((turned[0][::2].mean(0) + 1e-5) / (turned[1][::2].mean(0) + 1e-5))
    if np.mean((turned[0][1::2] @ log_odds > 0) & (turned[1][1::2] @ log_odds < 0)) < MIN_CLEAR:
        return None
    ordered = [pair if one else pair[::-1] for pair, one in zip(pairs, straight, strict=True)]
    return [source for source, _ in ordered], [target for _, target in ordered]


def shares(texts: Sequence[str]) -> np.ndarray:
    """Return the shares of trigrams in each text, one row per text; few buckets, because the matrix is dense."""
    buckets, starts = trigrams(texts)
    lengths = np.diff(np.append(starts, len(buckets)))
    rows = np.repeat(np.arange(len(texts)), lengths)
    flat = rows * TURNED_BUCKETS + buckets % TURNED_BUCKETS
    counts = np.bincount(flat, minlength=len(texts) * TURNED_BUCKETS).reshape(len(texts), TURNED_BUCKETS)
    return (counts / np.maximum(1, lengths)[:, None]).astype(np.float32)
