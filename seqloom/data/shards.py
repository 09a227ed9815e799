"""The shards of a token store: stretches of the corpora that can be encoded apart, by any number of processes.

    store-building/plan.json                which data this is for
    store-building/train-00000/             a finished shard (store_builder.py); one that a kill interrupted has no name

Which shards there are, and what is in each, follows from the files alone. So the store does not depend on who builds
what, and a build that was killed keeps the shards that were finished.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, checked_rows, row_chunks
from seqloom.data.origin import data_hash
from seqloom.files import reading
from seqloom.files.durable import hash_file, replace_file

CHUNKS = 128  # of a shard: half a million records, fewer where they are long
BUILDING = "store-building"
PLAN, FACTS = "plan.json", "shard.json"


@dataclass(frozen=True)
class Stretch:
    """The records of one shard: a run of chunks of one corpus."""

    name: str
    part: str  # train or valid
    corpus: int
    turn: int  # from 0 in its corpus
    is_last: bool  # of its corpus: it extends to the end


@dataclass(frozen=True)
class Team:
    """The processes that build a store together; one by default."""

    number: int = 0  # of this process
    size: int = 1
    announce: Callable[[dict[str, Any] | None], object] = lambda plan: plan  # tells the others what to build
    wait: Callable[[], object] = lambda: None  # until all have built their share


@dataclass(frozen=True)
class BuildPlan:
    """All that a process needs to build shards, beside the tokenizers."""

    origin: dict[str, Any]
    train: tuple[CorpusSpec, ...]
    valid: tuple[CorpusSpec, ...]  # empty: held out of the training data
    config: DataConfig
    seed: int
    missing: tuple[Stretch, ...] = ()  # not built yet
    stretches: tuple[Stretch, ...] = field(default=())  # all

    @property
    def form(self) -> str:
        return self.train[0].form

    def corpora(self, part: str) -> tuple[CorpusSpec, ...]:
        return self.train if part == "train" else self.valid

    def share(self, number: int, size: int) -> tuple[Stretch, ...]:
        """Return what one of `size` processes builds: neighbours, so that few processes read the same file."""
        every = len(self.missing)
        return self.missing[every * number // size : every * (number + 1) // size]

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "BuildPlan":
        return msgspec.convert(plain, cls, dec_hook=lambda kind, value: Path(value))


def list_stretches(corpora: Mapping[str, Sequence[CorpusSpec]], config: DataConfig) -> tuple[Stretch, ...]:
    """Return the shards of all corpora, in their order."""
    found: list[Stretch] = []
    for part, specs in corpora.items():
        number = 0
        for corpus, spec in enumerate(specs):
            turns = max(1, -(-count_chunks(spec, config, part) // CHUNKS))
            for turn in range(turns):
                found.append(Stretch(f"{part}-{number:05}", part, corpus, turn, turn + 1 == turns))
                number += 1
    return tuple(found)


def count_chunks(spec: CorpusSpec, config: DataConfig, part: str) -> int:
    """Return the chunks of a corpus; it is read for that unless the pass that checked it has counted them."""
    return spec.chunks or sum(1 for _ in row_chunks(checked_rows(spec, config, references=part == "valid")))


def plan_build(building: Path, plan: BuildPlan) -> BuildPlan:
    """Make the folder of a build, or continue in one of the same plan; add its shards and which of them are missing."""
    stretches = list_stretches({"train": plan.train, "valid": plan.valid}, plan.config)
    own = {"data_hash": data_hash(plan.origin), "shards": [dataclasses.asdict(stretch) for stretch in stretches]}
    if not is_planned(building, own):
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        replace_file(building / PLAN, json.dumps(own, indent=1))
    missing = tuple(stretch for stretch in stretches if not is_finished(building / stretch.name))
    return dataclasses.replace(plan, stretches=stretches, missing=missing)


def is_planned(building: Path, own: dict[str, Any]) -> bool:
    try:
        return bool(reading.read_json(building / PLAN, reading.STATE) == own)
    except (OSError, ValueError):
        return False


def is_finished(shard: Path) -> bool:
    """Whether a shard is there with every file as it was written."""
    try:
        files = reading.read_json(shard / FACTS, reading.STATE)["files"]
        for name in files:
            reading.check_regular(shard / name)
        return all(hash_file(shard / name) == file["sha256"] for name, file in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def clear_build(building: Path, unless_begun: bool = False) -> None:
    """Delete the folder of a build; unless_begun: only when no shard in it is finished."""
    begun = unless_begun and any((entry / FACTS).exists() for entry in building.glob("*"))
    if not begun:
        with suppress(OSError):
            shutil.rmtree(building)
