"""Which side is which: a line whose source reads like a target and whose target reads like a source was swapped.

The evidence of a text x is the sum over its character trigrams, l(x) = sum_c log P_source(c) / P_target(c), with both
profiles learned from the first pairs of the file (naive Bayes; Cavnar and Trenkle 1994 for trigrams). A normal pair has
l(source) > 0 > l(target). Only a line that is clearly the other way round on both sides is told, and nothing
is told when the sides are too alike to judge (the same language twice).
"""

from collections.abc import Sequence

import numpy as np

from seqloom.data.letters import code_points

SAMPLE_CHARS = 4_000_000
SAMPLE_PAIRS = 65_536
SAMPLE_WORDS = 5000  # pairs whose words are looked at
MIN_PAIRS = 200  # fewer teach no profile
BUCKETS = 1 << 18
JUDGED_CHARS = 100  # of a text are plenty to know its language
MIN_EVIDENCE = 12.0  # nats on each side, about 160,000 : 1
MIN_CLEAR = 0.95  # of the sample must lie one way round or the other, its two sides agreeing


def trigrams(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Buckets of all trigrams of all texts, and where each text begins; two line ends stand around each text."""
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
    """True when the source has the little words of the target language, and the target those of the source language."""
    if len(sources) < MIN_PAIRS or languages[0] == languages[1] or not FUNCTION_WORDS.keys() >= set(languages):
        return False
    own, other = (set(FUNCTION_WORDS[language].split()) for language in languages)
    shares = []
    for side in (sources, targets):
        words = " ".join(side[:SAMPLE_WORDS]).lower().split()
        shares.append([sum(word in known for word in words) for known in (own - other, other - own)])
    return shares[0][1] > 3 * shares[0][0] and shares[1][0] > 3 * shares[1][1]


class Direction:
    """Profiles of the two sides, and the lines that go against them."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self.judges = len(sources) >= MIN_PAIRS
        if not self.judges:
            return
        rates = [np.bincount(trigrams(side)[0], minlength=BUCKETS) for side in (sources, targets)]
        unseen = 2.0 / min(rate.sum() for rate in rates)
        odds = [rate / rate.sum() + unseen for rate in rates]
        self.log_odds = np.log(odds[0] / odds[1]).astype(np.float32)
        clear = np.mean((self.evidence(sources) > 0) == (self.evidence(targets) < 0))
        self.judges = bool(clear >= MIN_CLEAR)

    def evidence(self, texts: Sequence[str]) -> np.ndarray:
        """l(x) of the beginning of each text: above 0 it reads like a source, below 0 like a target."""
        buckets, starts = trigrams([text[:JUDGED_CHARS] for text in texts])
        return np.add.reduceat(self.log_odds[buckets], starts)

    def swapped(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """Places of the pairs that were probably swapped."""
        if not self.judges:
            return np.empty(0, np.int64)
        return np.flatnonzero((self.evidence(sources) < -MIN_EVIDENCE) & (self.evidence(targets) > MIN_EVIDENCE))
