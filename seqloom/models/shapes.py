"""Which tensors a weight file holds, told without torch and without reading any."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from seqloom.errors import ModelError


def read_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of each tensor. The library compares the header with the size of the file: a cut file is found."""
    try:
        with safe_open(file, framework="np") as stored:
            return {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118 (no dict)
    except (OSError, SafetensorError) as error:
        raise unreadable(file, error) from None


def unreadable(file: Path, error: Exception) -> ModelError:
    if isinstance(error, FileNotFoundError):
        return ModelError(f"{file}: missing. Copy the whole folder again, or run the same `seqloom train` again.")
    return ModelError(f"{file}: damaged or cut short ({error}). Copy it again, or run the same `seqloom train` again.")
