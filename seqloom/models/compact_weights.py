"""Compact weights: each matrix in 8 bits with one scale per row, a quarter of the size; vectors stay in 32 bits.

    s_i = max_j |W_ij| / 127,     q_ij = round(W_ij / s_i),     W_ij ~ q_ij s_i

model.safetensors then holds two tensors per matrix: NAME (int8) and NAME:scale (float32, one number per row). Needs no
torch: CTranslate2 runs such a model from these arrays, and `models.weights` fills a torch model from the same file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from seqloom.errors import ModelError
from seqloom.files.reading import check_regular
from seqloom.models.stored_shapes import EIGHT_BITS, SCALE, unreadable

Floats = NDArray[np.float32]
LARGEST = 127  # both signs reach equally far


def compacted(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The tensors as a compact file holds them."""
    found: dict[str, NDArray[Any]] = {}
    for name, tensor in tensors.items():
        array = np.ascontiguousarray(tensor, np.float32)
        if array.ndim == 2:
            found[name], found[name + SCALE] = in_eight_bits(array)
        else:
            found[name] = array
    return found


def in_eight_bits(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Whole numbers from -127 to 127, and the scale of each row; a row of zeros has the scale 1."""
    most = np.abs(matrix).max(1, initial=0.0)
    scale = np.where(most > 0, most / LARGEST, 1).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def is_compact(file: Path) -> bool:
    """Whether a weight file holds a matrix in 8 bits; False if it cannot be read."""
    try:
        check_regular(file)
        with safe_open(file, framework="np") as stored:
            return any(stored.get_slice(name).get_dtype() == EIGHT_BITS for name in stored.keys())  # noqa: SIM118
    except (OSError, SafetensorError):
        return False


def read_arrays(file: Path) -> dict[str, Floats]:
    """All tensors of a weight file by name, those of a compact file multiplied by their scales."""
    try:
        check_regular(file)
        with safe_open(file, framework="np") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (not a dictionary)
    except (OSError, SafetensorError) as error:
        raise unreadable(file, error) from None
    strange = [name for name, tensor in tensors.items() if not np.isfinite(tensor.sum(dtype=np.float64))]
    if strange:
        raise ModelError(f"{file}: {strange[0]} has numbers that are not finite. Copy the file again.")
    return {
        name: tensor * tensors[name + SCALE][:, None] if tensor.dtype == np.int8 else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
