"""Weights on disk: one safetensors file, no pickle; a tensor that two layers share is stored once.

The file has a shared tensor under the first of its names; the model knows which names share one.
The same weights always give the same bytes.
"""

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from seqloom.errors import ModelError
from seqloom.files.durable import replace_file
from seqloom.files.reading import check_regular
from seqloom.models.stored_shapes import SCALE, read_shapes, unreadable

SHOWN = 3  # names listed in a message


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
    """Write the file whole or not at all."""
    # One entry of metadata and no more: the library writes several in random order, and the bytes would differ.
    content = save({n: t.cpu().contiguous() for n, t in stored_tensors(model).items()}, metadata={"format": "pt"})
    replace_file(file, content)


def load_weights(model: nn.Module, file: Path) -> None:
    """Copy the file's tensors into the model; ModelError unless names and shapes are exactly the model's."""
    wanted = stored_tensors(model)
    check_shapes({name: tuple(tensor.shape) for name, tensor in wanted.items()}, read_shapes(file), file)
    try:
        check_regular(file)
        with safe_open(file, framework="pt") as stored, torch.no_grad():
            for name, tensor in wanted.items():
                found = stored.get_tensor(name)
                tensor.copy_(found * stored.get_tensor(name + SCALE)[:, None] if found.dtype == torch.int8 else found)
                if not tensor.sum().isfinite():
                    raise ModelError(f"{file}: {name} has numbers that are not finite. Copy the file again.")
    except (OSError, SafetensorError) as error:
        raise unreadable(file, error) from None


def check_shapes(wanted: dict[str, tuple[int, ...]], found: dict[str, tuple[int, ...]], file: Path) -> None:
    """Raise a ModelError that lists a few differences, unless names and shapes are the same."""
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
