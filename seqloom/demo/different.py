"""The first pairs of an endless stream whose inputs differ."""

from collections.abc import Iterable


def take_different(pairs: Iterable[tuple[str, str]], number: int) -> list[tuple[str, str]]:
    """Take pairs until there are this many different inputs; an input that is repeated counts once."""
    found: dict[str, str] = {}
    for text, answer in pairs:
        found[text] = answer
        if len(found) == number:
            break
    return list(found.items())
