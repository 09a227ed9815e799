"""Checks a token store before it is used: its files by their SHA-256, and every number in them by its range.

A store may come from a stranger, or from a disk that lost a bit: an id beyond the vocabulary would stop the training in
the middle, and a flipped bit would be learned.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from seqloom.data.store import SIDES, Store, ids_name, read_manifest
from seqloom.errors import DataError
from seqloom.files.durable import hash_file
from seqloom.files.reading import check_regular, is_plain_name

AT_ONCE = 2**20  # numbers that are looked at together
PARTS = ("train", "valid")


def check_store(folder: Path, sources: int, targets: int) -> None:
    """Raise a DataError unless the store is as it was written. sources, targets: the sizes of the vocabularies."""
    check_hashes(folder, read_manifest(folder))
    for name in PARTS:
        part = Store.open(folder, name)
        for side, size in zip(SIDES, (sources, targets), strict=True):
            check_side(part, side, size)
        if len(part) and part.corpora.max() >= len(part.names):
            raise damaged(folder / name / "corpora", "a corpus that its manifest does not list")
        _ = part.texts if name == "valid" else ()


def check_hashes(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Compare the content of every file with its hash; a store of an older version has none."""
    digests = manifest.get("sha256", {})
    if not isinstance(digests, dict) or not all(map(is_inside, digests)):
        raise damaged(folder / "manifest.json", "sha256 names files outside of the store")
    for name, digest in digests.items():
        try:
            check_regular(folder / name)
            same = hash_file(folder / name) == digest
        except OSError as error:
            raise damaged(folder / name, error.strerror or str(error)) from None
        if not same:
            raise damaged(folder / name, "its content has changed since it was written")


def is_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return 1 <= len(parts) <= 2 and all(map(is_plain_name, parts))


def check_side(part: Store, side: str, size: int) -> None:
    """Check that every text of one side lies within its file of ids, and that every id is one of the vocabulary."""
    starts, lengths, ids = part.columns_of(side)
    for first in range(0, len(lengths), AT_ONCE):
        some, long = starts[first : first + AT_ONCE], lengths[first : first + AT_ONCE].astype(np.int64)
        if long.min() < 0 or some.min() < 0 or some.max() > len(ids) or (some + long).max() > len(ids):
            raise damaged(part.folder / part.part / f"{side}.starts", "a text outside of the file of ids")
        some, long = some[long > 0], long[long > 0]
        if (ids.shard_of(some) != ids.shard_of(some + long - 1)).any():
            raise damaged(part.folder / part.part / f"{side}.starts", "a text that continues in another shard")
    for number, shard in enumerate(ids.shards):
        for first in range(0, len(shard), AT_ONCE):
            if (largest := int(shard[first : first + AT_ONCE].max())) >= size:
                file = part.folder / part.part / ids_name(side, number)
                raise damaged(file, f"id {largest:,}, but the vocabulary has {size:,} tokens")


def damaged(file: Path, why: str) -> DataError:
    folder = file.parents[file.parent.name in PARTS]
    return DataError(f"{file}: damaged: {why}; delete the folder {folder} to build it again")
