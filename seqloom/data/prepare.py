"""The token store of a run: opened when it is up to date and undamaged, else built.

It is built of shards, by one process or several, in a folder beside its own. The finished store then gets its name in
one step, so that a kill leaves the old store or none, and the finished shards.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import data_hash, describe_origin
from seqloom.data.shards import BUILDING, BuildPlan, Team, clear_build, plan_build
from seqloom.data.store import Store, read_manifest
from seqloom.data.store_builder import Progress, build_shards
from seqloom.data.store_checks import check_store
from seqloom.data.store_index import join_shards
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import cannot_write
from seqloom.files.folders import replaced_folder
from seqloom.text.sides import Tokenizers

ALONE = Team()


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
    team: Team = ALONE,
) -> tuple[Store, Store]:
    """Return the training and the validation part; without `valid_specs` the latter is held out of the former.

    allow_loss: more than 5 % of the lines may be left out for their length. `tell` reports a damaged store. The other
    processes of the `team` call `help_to_build`.
    """
    origin = describe_origin(specs, valid_specs, tokenizers, data_config, seed)
    building = folder.with_name(BUILDING)
    if is_good(folder, data_hash(origin), tokenizers, tell):
        team.announce(None)
    else:
        with kept_if_begun(building):
            plan = plan_build(building, BuildPlan(origin, tuple(specs), tuple(valid_specs), data_config, seed))
            team.announce(plan.to_json() if team.size > 1 else None)
            if begun := len(plan.stretches) - len(plan.missing):
                tell(f"encoding: {begun} of {len(plan.stretches)} shards are there already, from an earlier start")
            build_shards(building, plan, plan.share(team.number, team.size), tokenizers, progress)
            team.wait()
            with replaced_folder(folder) as empty:
                join_shards(empty, building, plan, tokenizers, allow_loss)
    clear_build(building)
    return Store.open(folder, "train"), Store.open(folder, "valid")


def help_to_build(
    building: Path, plain: Mapping[str, Any], load_tokenizers: Callable[[], Tokenizers], team: Team
) -> None:
    """Build this process's share of the shards that process 0 has announced."""
    if not building.is_dir():
        raise UsageError(
            f"does not see {building}. All processes build the data that process 0 uses: put --out on a disk that all "
            "machines share."
        )
    plan = BuildPlan.from_json(plain)
    build_shards(building, plan, plan.share(team.number, team.size), load_tokenizers(), lambda done: None)
    team.wait()


@contextmanager
def kept_if_begun(building: Path) -> Iterator[None]:
    """Delete the folder of a build that failed because of its data, or before a shard was finished."""
    try:
        yield
    except DataError:
        clear_build(building)
        raise
    except OSError as error:
        raise cannot_write(building, error) from error
    finally:
        clear_build(building, unless_begun=True)


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
