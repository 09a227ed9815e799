"""Writes checkpoints that survive SIGKILL at any moment and a damaged disk, without pickle; prunes and averages them.

    checkpoints/step-00000123/<name>.safetensors ... state.json manifest.json

Everything is written and synced in a temporary folder beside it, the manifest (size and SHA-256 of each file) last,
then renamed: a folder called step-N is whole, or the disk damaged it later and its hashes tell.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from seqloom.errors import ModelError, TrainingError, WriteError
from seqloom.files.durable import write_new
from seqloom.files.folders import move_aside, remove_folder, replaced_folder
from seqloom.runtime.checkpoints import (
    FORMAT,
    MANIFEST,
    STATE,
    TIED,
    Checkpoint,
    is_good,
    list_checkpoints,
    open_checkpoint,
    step_name,
)
from seqloom.training.tensor_stream import TensorStream

Tensors = Mapping[str, Tensor] | TensorStream


def save_checkpoint(folder: Path, step: int, tensors: Mapping[str, Tensors], state: Mapping[str, Any]) -> Path:
    """Write checkpoints/step-N whole or not at all; on a full disk WriteError, with the earlier ones untouched.

    A good one of the same step is replaced; a damaged one is kept for its owner under another name.
    """
    final = folder / step_name(step)
    with replaced_folder(final) as part:
        write_files(part, step, tensors, state)
        if final.exists() and not is_good(final):
            move_aside(final, "damaged")
    return final


def write_files(part: Path, step: int, tensors: Mapping[str, Tensors], state: Mapping[str, Any]) -> None:
    files = {}
    for name, content in contents(tensors, state):
        if isinstance(content, TensorStream):
            size, digest = content.write(part / name)
        else:
            size, digest = len(content), write_new(part / name, content)
        files[name] = {"size": size, "sha256": digest}
    manifest = {"format": FORMAT, "step": step, "files": files}
    write_new(part / MANIFEST, json.dumps(manifest, indent=1).encode())


def contents(tensors: Mapping[str, Tensors], state: Mapping[str, Any]) -> Iterator[tuple[str, bytes | TensorStream]]:
    """Each file's name and content, one at a time: the largest is all that is held in memory."""
    for name, group in tensors.items():
        yield f"{name}.safetensors", group if isinstance(group, TensorStream) else to_bytes(group)
    yield STATE, json.dumps(state).encode()


def to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """The safetensors bytes; a tied tensor is stored once, its other names in the metadata.

    All of them are in one entry, because the library writes several in random order, and the bytes would differ.
    """
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
    metadata = {TIED: json.dumps(aliases)} if aliases else None
    return save(kept, metadata=metadata)  # of no tensors (plain SGD keeps none) and {} it makes a broken file


def is_still_good(path: Path) -> bool:
    """As `is_good`, but a checkpoint none of whose files was touched since it was verified is not read again."""
    stats = [(file.name, file.stat()) for file in sorted(path.iterdir())]
    return was_good(path, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


@lru_cache(maxsize=256)
def was_good(path: Path, as_of: tuple[tuple[str, int, int], ...]) -> bool:
    return is_good(path)


@contextmanager
def last_one_kept(folder: Path) -> Iterator[None]:
    """If a file cannot be written, add to the error from which checkpoint training can continue."""
    try:
        yield
    except WriteError as error:
        steps = list_checkpoints(folder)
        kept = f"The last checkpoint, {step_name(steps[-1])}, is kept: training continues from there." if steps else ""
        raise TrainingError(f"{error} {kept or 'There is no checkpoint yet: training starts from scratch.'}") from error


def prune_checkpoints(folder: Path, keep_newest: int, keep: Collection[int] = ()) -> None:
    """Remove good checkpoints older than the `keep_newest` newest good ones, except those in `keep`.

    All are verified first: a damaged one must neither count as the newest nor disappear.
    """
    good = [step for step in list_checkpoints(folder) if is_still_good(folder / step_name(step))]
    for step in good[: max(0, len(good) - keep_newest)]:
        if step in keep:
            continue
        remove_folder(folder / step_name(step))


def average_checkpoints(checkpoints: Iterable[Path | Checkpoint], name: str = "model") -> dict[str, Tensor]:
    """The mean of the weights, summed in float64 from the oldest step on; integers are taken from the newest step.

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
            raise ModelError(f"{checkpoint.path}: its weights belong to another model than those of {opened[0].path}")
        for key, tensor in newest.items():
            if tensor.is_floating_point():
                total[key] = total[key] + tensor.double() if key in total else tensor.double()
            else:
                total[key] = tensor
    return {
        key: (total[key] / len(opened)).to(tensor.dtype) if tensor.is_floating_point() else tensor
        for key, tensor in newest.items()
    }
