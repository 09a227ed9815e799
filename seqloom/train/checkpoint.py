"""Checkpoints that survive SIGKILL at any moment and a damaged disk, without pickle.

    checkpoints/step-00000123/<name>.safetensors ... state.json manifest.json

Everything is written and synced in a temporary folder beside it, the manifest (size and SHA-256 of each file) last,
then renamed: a folder called step-N is whole, or the disk damaged it later and its hashes tell.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from seqloom.errors import ModelError
from seqloom.train.durable import cannot_write, sync_folder, write_synced

FORMAT = 1
MANIFEST = "manifest.json"
STATE = "state.json"
STEP_NAME = re.compile(r"step-(\d{8,})")
OUR_LEFTOVER = re.compile(r"\.(saving|removing|replaced)-(step-\d{8,})")


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

    def tensors(self, name: str) -> dict[str, Tensor]:
        """The tensors saved under this name, each in fresh memory.

        A view of the file is aligned otherwise than a fresh tensor, and a kernel may round by alignment.
        """
        file = self.path / f"{name}.safetensors"
        try:
            with safe_open(file, framework="pt") as stored:
                tensors = {key: stored.get_tensor(key).clone() for key in stored.keys()}  # noqa: SIM118 (not a dict)
                aliases = stored.metadata() or {}
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{file}: cannot be read: {error}") from None
        return tensors | {alias: tensors[key] for alias, key in aliases.items()}


def save_checkpoint(
    folder: Path, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
) -> Path:
    """Write checkpoints/step-N whole or not at all; on a full disk TrainingError, with the earlier ones untouched."""
    final = folder / step_name(step)
    part = folder / f".saving-{final.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        write_files(part, step, tensors, state)
        put_in_place(part, final)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise cannot_write(final, error) from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return final


def step_name(step: int) -> str:
    return f"step-{step:08d}"


def write_files(part: Path, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
    files = {}
    for name, content in contents(tensors, state):
        files[name] = {"size": len(content), "sha256": write_synced(part / name, content)}
    manifest = {"format": FORMAT, "step": step, "files": files}
    write_synced(part / MANIFEST, json.dumps(manifest, indent=1).encode())
    sync_folder(part)


def contents(tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Each file's name and bytes, one at a time: the largest is all that is held in memory."""
    for name, group in tensors.items():
        yield f"{name}.safetensors", to_bytes(group)
    yield STATE, json.dumps(state).encode()


def to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """The safetensors bytes; a tied tensor is stored once, its other names in the metadata."""
    kept: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    seen: dict[tuple[Any, ...], str] = {}
    for name in sorted(tensors):
        tensor = tensors[name].detach()
        place = (tensor.device, tensor.dtype, tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() and place in seen:
            aliases[name] = seen[place]
        else:
            seen[place] = name
            kept[name] = tensor.contiguous()
    return save(kept, metadata=aliases or None)  # of no tensors (plain SGD keeps none) and {} it makes a broken file


def put_in_place(part: Path, final: Path) -> None:
    """Rename; what stood there moves aside first: a good one is replaced, a damaged one is kept for its owner."""
    old = None
    if final.exists():
        old = final.with_name(f".replaced-{final.name}") if is_good(final) else unused_name(final)
        final.rename(old)
    part.rename(final)
    sync_folder(final.parent)
    if old and OUR_LEFTOVER.fullmatch(old.name):
        shutil.rmtree(old, ignore_errors=True)


def unused_name(final: Path) -> Path:
    number = 1
    while (name := final.with_name(f"{final.name}.damaged-{number}")).exists():
        number += 1
    return name


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
        check_file(path / name, record)
    return Checkpoint(path, step, read_object(path / STATE))


def read_object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
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
        size = file.stat().st_size
        if size != want_size:
            raise Damaged(f"{file.name} has {size} bytes, the manifest says {want_size}")
        with file.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != want_hash:
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


def is_still_good(path: Path) -> bool:
    """As `is_good`, but a checkpoint none of whose files was touched since it was verified is not read again."""
    stats = [(file.name, file.stat()) for file in sorted(path.iterdir())]
    return was_good(path, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


@lru_cache(maxsize=256)
def was_good(path: Path, as_of: tuple[tuple[str, int, int], ...]) -> bool:
    return is_good(path)


def list_checkpoints(folder: Path) -> list[int]:
    """The steps that have a folder, oldest first; nothing is verified."""
    if not folder.is_dir():
        return []
    return sorted(int(m[1]) for entry in folder.iterdir() if (m := STEP_NAME.fullmatch(entry.name)) and entry.is_dir())


def open_checkpoint(path: Path) -> Checkpoint:
    """This one checkpoint, verified; ModelError when it is damaged."""
    try:
        return verified(path)
    except Damaged as error:
        raise ModelError(f"{path}: damaged checkpoint: {error}") from None


def newest_checkpoint(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest one that verifies; each damaged one is named, passed over and left where it is."""
    for step in reversed(list_checkpoints(folder)):
        path = folder / step_name(step)
        try:
            return verified(path)
        except Damaged as error:
            warn(f"{path}: damaged checkpoint passed over: {error}. It is left as it is; an older one is used.")
    return None


def clear_leftovers(folder: Path) -> None:
    """Finish what a kill cut short. Call it at the start, holding the lock: only folders named as ours are touched."""
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = OUR_LEFTOVER.fullmatch(entry.name)
        if match is None:
            continue
        if match[1] == "replaced" and not (folder / match[2]).exists():
            entry.rename(folder / match[2])  # killed between the two renames: the old one is still the only one
        else:
            shutil.rmtree(entry, ignore_errors=True)


def prune_checkpoints(folder: Path, keep_newest: int, keep: Collection[int] = ()) -> None:
    """Remove good checkpoints older than the `keep_newest` newest good ones, except those in `keep`.

    All are verified first: a damaged one must neither count as the newest nor disappear.
    """
    good = [step for step in list_checkpoints(folder) if is_still_good(folder / step_name(step))]
    for step in good[: max(0, len(good) - keep_newest)]:
        if step in keep:
            continue
        path = folder / step_name(step)
        gone = path.with_name(f".removing-{path.name}")
        shutil.rmtree(gone, ignore_errors=True)
        path.rename(gone)  # one moment whole, the next no checkpoint at all: never half of one
        shutil.rmtree(gone, ignore_errors=True)


def average_checkpoints(checkpoints: Iterable[Path | Checkpoint], name: str = "model") -> dict[str, Tensor]:
    """The mean of the weights, summed in float64 from the oldest step on; what is no float comes from the newest.

    Source: Vaswani et al. 2017, section 6.1 (averaging the last checkpoints).
    """
    opened = [c if isinstance(c, Checkpoint) else open_checkpoint(c) for c in checkpoints]
    if not opened:
        raise ValueError("average_checkpoints: no checkpoint given")
    opened.sort(key=lambda checkpoint: checkpoint.step)
    total: dict[str, Tensor] = {}
    for checkpoint in opened:
        newest = checkpoint.tensors(name)
        if total and {k: t.shape for k, t in newest.items()} != {k: t.shape for k, t in total.items()}:
            raise ModelError(f"{checkpoint.path}: its weights are of another model than those of {opened[0].path}")
        for key, tensor in newest.items():
            if tensor.is_floating_point():
                total[key] = total[key] + tensor.double() if key in total else tensor.double()
            else:
                total[key] = tensor
    return {
        key: (total[key] / len(opened)).to(tensor.dtype) if tensor.is_floating_point() else tensor
        for key, tensor in newest.items()
    }
