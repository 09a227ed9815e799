"""The token store of a run: opened when it is up to date, else built.

It is built in a folder beside its own and renamed when it is whole, so that a kill leaves the old store or none.
"""

import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.build import Builder, Progress
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import data_hash, describe_origin
from seqloom.data.store import Store, read_manifest
from seqloom.errors import DataError, TrainingError, UsageError
from seqloom.text.sides import Tokenizers


def prepare(
    folder: Path,
    specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    data_config: DataConfig,
    seed: int,
    valid_specs: Sequence[CorpusSpec] = (),
    progress: Progress = lambda records: None,
    allow_loss: bool = False,
) -> tuple[Store, Store]:
    """The training and the validation part; without `valid_specs` the latter is held out of the former.

    allow_loss: more than 5 % of the lines may be left out for their length.
    """
    known = known_manifest(folder)
    origin = describe_origin(specs, valid_specs, tokenizers, data_config, seed, known.get("origin"))
    if data_hash(origin) != known.get("data_hash"):
        with explained_faults(folder), replaced(folder) as empty:
            builder = Builder(empty, tokenizers, data_config, seed, progress, specs[0].form, allow_loss)
            builder.build(specs, valid_specs, origin)
    return Store.open(folder, "train"), Store.open(folder, "valid")


def wanted_data_hash(
    folder: Path,
    specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    data_config: DataConfig,
    seed: int,
    valid_specs: Sequence[CorpusSpec] = (),
) -> str:
    """The `data_hash` that `prepare` would give, without touching the store: to refuse to resume with other data."""
    known = known_manifest(folder).get("origin")
    return data_hash(describe_origin(specs, valid_specs, tokenizers, data_config, seed, known))


def known_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of the store that is there; empty when there is no whole one."""
    try:
        return read_manifest(folder)
    except DataError:
        return {}


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """An empty folder beside this one, which takes its place when the block ends well and is deleted when not."""
    new, old = (folder.with_name(folder.name + ending) for ending in (".new", ".old"))
    for left in (new, old):  # by a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def explained_faults(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TrainingError(f"{folder}: the disk is full; make room and run the same command again.") from None
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
