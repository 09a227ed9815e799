"""Warns of a test file whose columns are exchanged: its sources read like what the model learned to write.

Both sides of the training data, from the token store, give the profiles (`data.swapped_sides`); a short file is enough
to judge, because all of its pairs speak together.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seqloom.data.store import Store
from seqloom.data.swapped_sides import Direction
from seqloom.errors import DataError
from seqloom.metrics.testset import Item
from seqloom.text.sides import Tokenizers

SAMPLE = 5000  # training pairs
MOST = 0.5  # share of the test pairs that may read the other way round


def exchanged_warning(folder: Path, tokenizers: Tokenizers, items: Sequence[Item]) -> list[str]:
    """A warning where most pairs are exchanged; none without a token store or where the sides are too alike."""
    try:
        store = Store.open(folder / "store")
    except (DataError, OSError):
        return []
    rows = np.unique(np.linspace(0, len(store) - 1, min(len(store), SAMPLE)).astype(np.int64))
    ids = [store.pair_ids(int(row)) for row in rows]
    sources = [tokenizers.source.decode(source) for source, _ in ids]
    profiles = Direction(sources, [tokenizers.target.decode(target) for _, target in ids])
    if not profiles.judges:
        return []
    exchanged = (profiles.evidence([item.source for item in items]) < 0) & (
        profiles.evidence([item.references[0] for item in items]) > 0
    )
    if exchanged.mean() <= MOST:
        return []
    return [
        f"The columns look exchanged: {exchanged.mean():.0%} of the sources read like the targets that the model was "
        "trained on, and their references like its sources. Try --columns 2,1, or exchange the two files."
    ]
