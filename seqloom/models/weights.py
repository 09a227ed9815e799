"""Weights on disk: one safetensors file, no pickle; a tensor that two layers share is stored once.

Which names share a tensor is a matter of the model, so the file does not say it: the first name of each counts.
The same weights give the same bytes, whenever and wherever they are written.
"""

import os
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from seqloom.errors import ModelError
from seqloom.models.shapes import read_shapes, unreadable

SHOWN = 3  # names in a message about many


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Each tensor of the model once, under the first of its names."""
    kept: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in sorted(model.state_dict(keep_vars=True).items()):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor.detach()
    return kept


def save_weights(model: nn.Module, file: Path) -> None:
    """Write the file whole or not at all; an OSError names the file, whatever the system call knew of it."""
    # One entry of metadata and no more: the library writes several in random order, and the bytes would differ.
    content = save({n: t.cpu().contiguous() for n, t in stored_tensors(model).items()}, metadata={"format": "pt"})
    part = file.with_name(f".{file.name}.part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def load_weights(model: nn.Module, file: Path) -> None:
    """Copy the file's tensors into the model; ModelError unless they are exactly the model's."""
    wanted = stored_tensors(model)
    check_shapes({name: tuple(tensor.shape) for name, tensor in wanted.items()}, read_shapes(file), file)
    try:
        with safe_open(file, framework="pt") as stored, torch.no_grad():
            for name, tensor in wanted.items():
                tensor.copy_(stored.get_tensor(name))
    except (OSError, SafetensorError) as error:
        raise unreadable(file, error) from None


def check_shapes(wanted: dict[str, tuple[int, ...]], found: dict[str, tuple[int, ...]], file: Path) -> None:
    """The same names with the same shapes, or a ModelError that names a few that differ."""
    faults = [f"{name} is missing" for name in wanted if name not in found]
    faults += [f"{name} does not belong to it" for name in found if name not in wanted]
    faults += [
        f"{name} has shape {list(found[name])}, the settings ask for {list(shape)}"
        for name, shape in wanted.items()
        if name in found and found[name] != shape
    ]
    if faults:
        shown = "; ".join(faults[:SHOWN]) + ("; ..." if len(faults) > SHOWN else "")
        raise ModelError(
            f"{file}: not the weights of the model that config.toml and the tokenizer describe: {len(faults)} of its "
            f"{len(wanted)} tensors differ ({shown}). The files of this folder come from different runs: copy it again."
        )
