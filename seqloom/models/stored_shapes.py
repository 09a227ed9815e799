"""Names and shapes of the tensors in a weight file, read without torch and without loading any tensor.

    8 bytes: size of the header | header: JSON {name: {dtype, shape, data_offsets}} | the numbers of all tensors

The header is read here, because the library loads numpy first, which takes longer than everything else that `info`
does. The rules are those of the library: the tensors fill the rest of the file, without gaps and without overlaps.
"""

import math
import os
from pathlib import Path
from typing import Any

from seqloom.errors import ModelError
from seqloom.files.reading import open_regular, parse_json

BYTES = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8, "I8": 1, "U8": 1, "BOOL": 1, "I16": 2, "I32": 4, "I64": 8}
MOST_HEADER = 10**8  # bytes, as in the library
MOST_AXES = 16
FLOATS = ("F16", "BF16", "F32", "F64")
EIGHT_BITS, SCALE = "I8", ":scale"  # a matrix of a compact file, and what its name is followed by in that of its scales


def read_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of each tensor; the scales of a compact file are left out, as they belong to their matrices."""
    try:
        header = read_header(file)
        kinds = {name: tensor["dtype"] for name, tensor in header.items()}
        shapes = {name: tuple(tensor["shape"]) for name, tensor in header.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise unreadable(file, error) from None
    compact = [name for name, kind in kinds.items() if kind == EIGHT_BITS and scaled(name, kinds, shapes)]
    strange = [f"{name} is {kind}" for name, kind in kinds.items() if kind not in FLOATS and name not in compact]
    if strange:
        raise ModelError(
            f"{file}: {strange[0]}: weights are floating-point numbers, or 8 bits with a scale per row. Copy the file "
            "again."
        )
    scales = {name + SCALE for name in compact}
    return {name: shape for name, shape in shapes.items() if name not in scales}


def read_header(file: Path) -> dict[str, Any]:
    """Read the header without its metadata; an error if it is not that of a whole file."""
    with open_regular(file) as stream:
        rest = os.fstat(stream.fileno()).st_size - 8
        size = int.from_bytes(stream.read(8), "little")
        if rest < 2 or size > min(rest, MOST_HEADER):
            raise ValueError("its header is longer than the file")
        header = parse_json(stream.read(size))
    header.pop("__metadata__", None)
    place = 0
    for start, end, name in sorted((*tensor["data_offsets"], name) for name, tensor in header.items()):
        shape, kind = header[name]["shape"], header[name]["dtype"]
        if kind not in BYTES:
            raise ValueError(f"{name!r:.80} is of the unknown type {kind!r:.20}")
        if len(shape) > MOST_AXES or any(type(axis) is not int or axis < 0 for axis in shape):
            raise ValueError(f"{name!r:.80} has a shape that is none")
        if start != place or end - start != math.prod(shape) * BYTES[kind]:
            raise ValueError(f"{name!r:.80} is not where its shape says")
        place = end
    if place != rest - size:
        raise ValueError("there is more or less in it than its tensors")
    return dict(header)


def scaled(name: str, kinds: dict[str, str], shapes: dict[str, tuple[int, ...]]) -> bool:
    """Whether a matrix in 8 bits has its scales beside it: one floating-point number per row."""
    return len(shapes[name]) == 2 and shapes.get(name + SCALE) == shapes[name][:1] and kinds[name + SCALE] == "F32"


def unreadable(file: Path, error: Exception) -> ModelError:
    """The error for a weight file that is missing, truncated or damaged."""
    if isinstance(error, FileNotFoundError):
        return ModelError(f"{file}: missing. Copy the whole folder again, or run the same `seqloom train` again.")
    return ModelError(f"{file}: damaged or cut short ({error}). Copy it again, or run the same `seqloom train` again.")
