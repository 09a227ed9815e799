"""The axes on which states are drawn: principal component analysis (PCA), fitted once per model and kept in its folder.

    X - mean = U S V^T,     axes = first rows of V^T,     explained_k = S_k^2 / sum S^2          Pearson 1901

Documents of the same model have the same axes, so their points can be compared. basis.safetensors holds them, with the
hash of the weights and of the texts they were fitted on; other weights or other given texts make another basis.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from seqloom.errors import WriteError
from seqloom.files.durable import replace_file
from seqloom.files.reading import check_regular

FILE = "basis.safetensors"
AXES = 3
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Basis:
    """Mean, axes (K, H) and their shares of the variance; `fitted_on`: number of texts."""

    mean: Floats
    axes: Floats
    explained: Floats
    fitted_on: int

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.mean.tobytes() + self.axes.tobytes()).hexdigest()[:16]

    def points(self, states: Floats) -> list[list[float]]:
        """The states (T, H) as points on the axes."""
        found: list[list[float]] = ((states - self.mean) @ self.axes.T).tolist()
        return found


def fit(states: Floats, fitted_on: int, axes: int = AXES) -> Basis:
    """The axes of the largest variance of these states (M, H). The largest entry of each axis is positive."""
    states = states.astype(np.float64)
    mean = states.mean(0)
    _, sizes, rows = np.linalg.svd(states - mean, full_matrices=False)
    rows = rows[:axes] * np.sign(rows[:axes][range(len(rows[:axes])), np.abs(rows[:axes]).argmax(1)])[:, None]
    total = float((sizes**2).sum())
    explained = sizes[:axes] ** 2 / total if total else np.zeros(len(rows))
    return Basis(mean.astype(np.float32), rows.astype(np.float32), explained.astype(np.float32), fitted_on)


def kept_or_fitted(
    folder: Path | None,
    weights: str,
    texts: Sequence[str] | None,
    widths: Mapping[str, int],
    make: Callable[[], dict[str, Basis]],
) -> dict[str, Basis]:
    """The bases in the folder if they fit, else new ones from `make`, kept in the folder where it can be written.

    `texts`: what they must be fitted on; None = whatever they were fitted on before.
    """
    about = "" if texts is None else hashlib.sha256("\n".join(texts).encode()).hexdigest()
    if folder is None or not weights:
        return make()
    kept = read(folder / FILE, weights, about)
    if {name: basis.axes.shape[1] for name, basis in kept.items()} == dict(widths):
        return kept
    made = make()
    if all(basis.fitted_on > 1 for basis in made.values()):  # one text alone is not what the next one is drawn on
        with suppress(WriteError):  # a folder that is only read: the next call fits them again
            write(folder / FILE, made, weights, about)
    return made


def write(file: Path, bases: Mapping[str, Basis], weights: str, texts: str) -> None:
    tensors = {
        f"{name}.{part}": np.ascontiguousarray(getattr(basis, part))
        for name, basis in bases.items()
        for part in ("mean", "axes", "explained")
    }
    fitted_on = str(max((basis.fitted_on for basis in bases.values()), default=0))
    replace_file(file, save(tensors, {"weights": weights, "texts": texts, "fitted_on": fitted_on}))


def read(file: Path, weights: str, texts: str) -> dict[str, Basis]:
    """The bases of a file that was fitted with these weights, on these texts (empty = any); none where it does not fit.

    A damaged file is fitted again: it holds nothing that cannot be computed.
    """
    try:
        check_regular(file)
        with safe_open(file, "np") as tensors:
            about = tensors.metadata() or {}
            if about.get("weights") != weights or (texts and about.get("texts") != texts):
                return {}
            fitted_on = int(about["fitted_on"])
            names = {name.rpartition(".")[0] for name in tensors.keys()}  # noqa: SIM118 (not a dictionary)
            part = tensors.get_tensor
            whole = {
                name: Basis(part(f"{name}.mean"), part(f"{name}.axes"), part(f"{name}.explained"), fitted_on)
                for name in sorted(names)
            }
        return {name: basis for name, basis in whole.items() if is_whole(basis)}
    except (OSError, SafetensorError, KeyError, ValueError):
        return {}


def is_whole(basis: Basis) -> bool:
    """Whether the shapes and numbers of a stored basis make sense."""
    if basis.axes.ndim != 2 or basis.mean.shape != basis.axes.shape[1:] or basis.explained.shape != (len(basis.axes),):
        return False
    finite = all(np.isfinite(part).all() for part in (basis.mean, basis.axes))
    return bool(finite and (basis.explained >= 0).all() and (basis.explained <= 1).all())
