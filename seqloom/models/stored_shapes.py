"""Names and shapes of the tensors in a weight file, read without torch and without loading any tensor."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from seqloom.errors import ModelError
from seqloom.files.reading import check_regular

FLOATS = ("F16", "BF16", "F32", "F64")


def read_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of each tensor. The library checks the file size against the header, so a truncated file fails."""
    try:
        check_regular(file)
        with safe_open(file, framework="np") as stored:
            tensors = {name: stored.get_slice(name) for name in stored.keys()}  # noqa: SIM118 (no dict)
            strange = [
                f"{name} is {part.get_dtype()}" for name, part in tensors.items() if part.get_dtype() not in FLOATS
            ]
            if strange:
                raise ModelError(f"{file}: {strange[0]}: weights are floating-point numbers. Copy the file again.")
            return {name: tuple(part.get_shape()) for name, part in tensors.items()}
    except (OSError, SafetensorError) as error:
        raise unreadable(file, error) from None


def unreadable(file: Path, error: Exception) -> ModelError:
    """The error for a weight file that is missing, truncated or damaged."""
    if isinstance(error, FileNotFoundError):
        return ModelError(f"{file}: missing. Copy the whole folder again, or run the same `seqloom train` again.")
    return ModelError(f"{file}: damaged or cut short ({error}). Copy it again, or run the same `seqloom train` again.")
