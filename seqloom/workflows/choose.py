"""Without --recipe: which one fits the data, and why, said aloud."""

from collections.abc import Sequence
from itertools import islice

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, usable_pairs

LOOKED_AT = 2000  # pairs from the start of the data
SHORT = 40  # characters: words, dates and codes, not sentences


def choose_recipe(specs: Sequence[CorpusSpec], data: DataConfig) -> tuple[str, str]:
    """(name, reason)."""
    pairs = list(islice(usable_pairs(specs[0], data), LOOKED_AT))
    lengths = sorted(max(len(pair.source), len(pair.targets[0])) for pair in pairs)
    typical = lengths[len(lengths) // 2] if lengths else 0
    if typical <= SHORT and not any(" " in pair.targets[0].strip() for pair in pairs[: len(pairs) // 2 + 1 : 2]):
        return "characters-rnn", f"targets are single words (typical pair: {typical} characters): read by characters"
    return "transformer-small", f"targets are sentences (typical pair: {typical} characters): a small Transformer"
