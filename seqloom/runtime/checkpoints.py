"""Checkpoints on disk: which there are, and whether each is whole. Needs no torch until tensors are asked for.

    checkpoints/step-00000123/<name>.safetensors ... state.json manifest.json

The manifest has the size and the SHA-256 of each file. `training.checkpoint` writes them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from safetensors import SafetensorError, safe_open

from seqloom.errors import ModelError
from seqloom.files.durable import hash_file
from seqloom.files.reading import STATE as STATE_SIZE
from seqloom.files.reading import check_regular, is_plain_name, read_json

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = "checkpoints"
FORMAT = 1
MANIFEST = "manifest.json"
STATE = "state.json"
TIED = "tied"  # metadata of the weights: JSON, the other names of tied tensors
STEP_NAME = re.compile(r"step-([0-9]{8,18})")


class Damaged(Exception):
    """What is wrong with a checkpoint on disk; caught in this file."""


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint; tensors are read when asked for."""

    path: Path
    step: int
    state: dict[str, Any]

    def has(self, name: str) -> bool:
        return (self.path / f"{name}.safetensors").exists()

    def tensors(self, name: str, wanted: Callable[[str], bool] = lambda key: True) -> "dict[str, Tensor]":
        """The tensors saved under this name, or those of the wanted keys, each in fresh memory.

        A view of the file is aligned otherwise than a fresh tensor, and a kernel may round by alignment.
        """
        file = self.path / f"{name}.safetensors"
        try:
            check_regular(file)
            with safe_open(file, framework="pt") as stored:
                keys = filter(wanted, stored.keys())
                tensors = {key: stored.get_tensor(key).clone() for key in keys}
                aliases = stored.metadata() or {}
            if TIED in aliases:  # older checkpoints have an entry for each
                aliases = msgspec.json.decode(aliases[TIED], type=dict[str, str])
        except (OSError, SafetensorError, msgspec.MsgspecError) as error:
            raise ModelError(f"{file}: cannot be read: {error}") from None
        return tensors | {alias: tensors[key] for alias, key in aliases.items() if key in tensors}


def step_name(step: int) -> str:
    return f"step-{step:08d}"


def verified(path: Path) -> Checkpoint:
    """The checkpoint, if manifest, sizes and hashes agree; else Damaged, with the reason."""
    manifest = read_object(path / MANIFEST)
    files, step = manifest.get("files"), manifest.get("step")
    if manifest.get("format") != FORMAT:
        raise Damaged(f"{MANIFEST}: format {manifest.get('format')!r}, this version reads {FORMAT}")
    if not isinstance(step, int) or path.name != step_name(step):
        raise Damaged(f"{MANIFEST}: step {step!r} does not belong to this folder")
    if not isinstance(files, dict) or STATE not in files:
        raise Damaged(f"{MANIFEST}: lists no {STATE}")
    for name, record in files.items():
        if not is_plain_name(name):
            raise Damaged(f"{MANIFEST}: {name!r} is not the name of a file in this folder")
        check_file(path / name, record)
    state = read_object(path / STATE)
    if state.get("step", step) != step:
        raise Damaged(f"{STATE}: step {state['step']!r:.40} does not belong to this folder")
    return Checkpoint(path, step, state)


def read_object(file: Path) -> dict[str, Any]:
    try:
        value = read_json(file, STATE_SIZE)
    except FileNotFoundError:
        raise Damaged(f"{file.name} is missing") from None
    except (OSError, ValueError) as error:
        raise Damaged(f"{file.name} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise Damaged(f"{file.name} holds no JSON object")
    return value


def check_file(file: Path, record: Any) -> None:
    want_size, want_hash = (record.get("size"), record.get("sha256")) if isinstance(record, dict) else (None, None)
    try:
        check_regular(file)
        size = file.stat().st_size
        if size != want_size:
            raise Damaged(f"{file.name} has {size} bytes, the manifest says {want_size}")
        if hash_file(file) != want_hash:
            raise Damaged(f"{file.name} does not match its SHA-256")
    except FileNotFoundError:
        raise Damaged(f"{file.name} is missing") from None
    except OSError as error:
        raise Damaged(f"{file.name} cannot be read: {error.strerror}") from None


def is_good(path: Path) -> bool:
    try:
        verified(path)
    except Damaged:
        return False
    return True


def list_checkpoints(folder: Path) -> list[int]:
    """The steps that have a folder, oldest first; nothing is verified."""
    if not folder.is_dir():
        return []
    names = [entry.name for entry in folder.iterdir() if entry.is_dir()]
    steps = [int(match[1]) for name in names if (match := STEP_NAME.fullmatch(name))]
    return sorted(step for step in steps if step_name(step) in names)  # not step-000000001


def open_checkpoint(path: Path) -> Checkpoint:
    """This one checkpoint, verified; ModelError when it is damaged."""
    try:
        return verified(path)
    except Damaged as error:
        raise ModelError(f"{path}: damaged checkpoint: {error}") from None


def newest_checkpoint(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest checkpoint that is intact; each damaged one is reported, skipped and left in place."""
    steps = list_checkpoints(folder)
    for older, step in reversed(list(enumerate(steps))):
        path = folder / step_name(step)
        try:
            return verified(path)
        except Damaged as error:
            instead = "an older one is used" if older else "there is no older one"
            warn(f"{path}: damaged checkpoint skipped: {error}. It is left in place; {instead}.")
    return None
