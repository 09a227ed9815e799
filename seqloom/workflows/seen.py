"""How much of what a model is measured on it was trained on: on that, scores tell what it remembers."""

from collections.abc import Sequence
from pathlib import Path

from seqloom.errors import DataError


def count_seen(folder: Path, encoded: Sequence[Sequence[int]]) -> int | None:
    """How many of the sources, as tokens, are among those of the training data; None when the token store is gone."""
    from seqloom.data.store import Store
    from seqloom.evaluate.overlap import count_known

    try:
        store = Store.open(folder / "store")
    except (DataError, OSError):
        return None
    return count_known(encoded, store.source_lengths, lambda rows: store.take("source", rows)[0])


def seen_warning(seen: int | None, number: int, what: str = "sources") -> list[str]:
    if not seen:
        return []
    return [
        f"{seen:,} of {number:,} {what} were also in the training data: "
        "on those the scores tell what the model remembers, not how it does on new text."
    ]
