"""Names and shapes of the tensors in a weight file, read without torch and without loading any tensor."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from seqloom.errors import ModelError
from seqloom.files.reading import check_regular

FLOATS = ("F16", "BF16", "F32", "F64")
EIGHT_BITS, SCALE = "I8", ":scale"  # a matrix of a compact file, and what its name is followed by in that of its scales


def read_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of each tensor; the scales of a compact file are left out, as they belong to their matrices.

    The library checks the file size against the header, so a truncated file fails."""
    try:
        check_regular(file)
        with safe_open(file, framework="np") as stored:
            tensors = {name: stored.get_slice(name) for name in stored.keys()}  # noqa: SIM118 (no dict)
            kinds = {name: part.get_dtype() for name, part in tensors.items()}
            shapes = {name: tuple(part.get_shape()) for name, part in tensors.items()}
    except (OSError, SafetensorError) as error:
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


def scaled(name: str, kinds: dict[str, str], shapes: dict[str, tuple[int, ...]]) -> bool:
    """Whether a matrix in 8 bits has its scales beside it: one floating-point number per row."""
    return len(shapes[name]) == 2 and shapes.get(name + SCALE) == shapes[name][:1] and kinds[name + SCALE] == "F32"


def unreadable(file: Path, error: Exception) -> ModelError:
    """The error for a weight file that is missing, truncated or damaged."""
    if isinstance(error, FileNotFoundError):
        return ModelError(f"{file}: missing. Copy the whole folder again, or run the same `seqloom train` again.")
    return ModelError(f"{file}: damaged or cut short ({error}). Copy it again, or run the same `seqloom train` again.")
