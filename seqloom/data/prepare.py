"""The token store of a run: opened when it is up to date and undamaged, else built.

It is built in a folder beside its own and renamed when it is whole, so that a kill leaves the old store or none.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import data_hash, describe_origin
from seqloom.data.store import Store, read_manifest
from seqloom.data.store_builder import Builder, Progress
from seqloom.data.store_checks import check_store
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
    tell: Callable[[str], None] = lambda notice: None,
) -> tuple[Store, Store]:
    """Return the training and the validation part; without `valid_specs` the latter is held out of the former.

    allow_loss: more than 5 % of the lines may be left out for their length. `tell` reports a damaged store.
    """
    origin = describe_origin(specs, valid_specs, tokenizers, data_config, seed)
    if not is_good(folder, data_hash(origin), tokenizers, tell):
        with replaced_folder(folder) as empty:
            builder = Builder(empty, tokenizers, data_config, seed, progress, specs[0].form, allow_loss)
            builder.build(specs, valid_specs, origin)
    return Store.open(folder, "train"), Store.open(folder, "valid")


def wanted_data_hash(
    specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    data_config: DataConfig,
    seed: int,
    valid_specs: Sequence[CorpusSpec] = (),
) -> str:
    """Return the `data_hash` that `prepare` would give, without touching a store: other data is refused by it."""
    return data_hash(describe_origin(specs, valid_specs, tokenizers, data_config, seed))


def is_good(folder: Path, wanted: str, tokenizers: Tokenizers, tell: Callable[[str], None]) -> bool:
    """Whether a store is there that was made from the same data, and none of its files has changed since."""
    if not folder.exists():
        return False
    try:
        if read_manifest(folder)["data_hash"] != wanted:
            return False
        check_store(folder, len(tokenizers.source), len(tokenizers.target))
    except DataError as error:
        tell(f"{str(error).partition(';')[0]}; it is built again from the data")
        return False
    return True
