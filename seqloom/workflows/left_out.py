"""What of a public model has found no place in ours, in a few words: nobody shall think that it was imported."""

from collections import Counter
from collections.abc import Iterable

SHOWN = 4  # groups of tensors in a message
# What a model computes by itself (the numbers of its places, its masks, sines) or holds twice: none of it is lost.
NO_LOSS = (".position_ids", ".attn.bias", ".attn.masked_bias", "embed_positions.weight", "lm_head.weight")


def describe_left_out(names: Iterable[str]) -> str:
    """`classifier (2 tensors), encoder.layer.2 (16 tensors)`; nothing when nothing is lost."""
    groups = Counter(beginning(name) for name in sorted(names) if not name.endswith(NO_LOSS))
    shown = [f"{group} ({number} tensor{'s' * (number > 1)})" for group, number in groups.items()]
    more = [f"{len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return ", ".join(shown[:SHOWN] + more)


def beginning(name: str) -> str:
    """Up to the number of a layer, or else two words at most, without the last: that is weight or bias."""
    words = name.split(".")
    number = next((place for place, word in enumerate(words, start=1) if word.isdecimal()), min(2, len(words) - 1))
    return ".".join(words[: max(1, number)])
