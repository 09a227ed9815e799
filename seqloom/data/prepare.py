"""The token store of a run: opened when it is up to date, else built.

It is built in a folder beside its own and renamed when it is whole, so that a kill leaves the old store or none.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import data_hash, describe_origin
from seqloom.data.store import Store, read_manifest
from seqloom.data.store_builder import Builder, Progress
from seqloom.errors import DataError
from seqloom.files.folders import replaced_folder
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
    """Return the training and the validation part; without `valid_specs` the latter is held out of the former.

    allow_loss: more than 5 % of the lines may be left out for their length.
    """
    known = known_manifest(folder)
    origin = describe_origin(specs, valid_specs, tokenizers, data_config, seed, known.get("origin"))
    if data_hash(origin) != known.get("data_hash"):
        with replaced_folder(folder) as empty:
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
    """Return the `data_hash` that `prepare` would give, without touching the store: other data is refused by it."""
    known = known_manifest(folder).get("origin")
    return data_hash(describe_origin(specs, valid_specs, tokenizers, data_config, seed, known))


def known_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of the store that is there; empty when there is no whole one."""
    try:
        return read_manifest(folder)
    except DataError:
        return {}
