"""The weights of a Transformer by role (layer norm, queries, feed-forward ...), read from model.safetensors with numpy.

CTranslate2's files and the Hugging Face export use only these roles and do not know the names of tensors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seqloom.config import Config
from seqloom.errors import ModelError, UsageError
from seqloom.models.compact_weights import read_arrays

Array = NDArray[np.float32]
ATTENTION, CROSS, FEED_FORWARD = "attention", "cross", "feed_forward"


@dataclass(frozen=True)
class Affine:
    """Linear map:  x W^T + b."""

    weight: Array
    bias: Array

    def rows(self, part: int, parts: int) -> "Affine":
        """One of several maps that are stacked in this one."""
        size = len(self.bias) // parts
        return Affine(*(array[part * size : (part + 1) * size] for array in (self.weight, self.bias)))


def stacked(*maps: Affine) -> Affine:
    return Affine(np.concatenate([each.weight for each in maps]), np.concatenate([each.bias for each in maps]))


@dataclass(frozen=True)
class TransformerWeights:
    config: Config
    tensors: dict[str, Array]

    @classmethod
    def read(cls, config: Config, file: Path) -> "TransformerWeights":
        if config.model.kind != "transformer":
            raise UsageError(f"{file.parent}: model.kind = {config.model.kind}; only a Transformer can be converted")
        tensors = read_arrays(file)
        if any(".adapter_" in name for name in tensors):
            raise UsageError(
                f"{file}: adapters are not merged into the weights; finish the training, which merges them"
            )
        return cls(config, tensors)

    def array(self, name: str) -> Array:
        try:
            return self.tensors[name]
        except KeyError:
            raise ModelError(
                f"the weights lack {name}, which the settings require. Copy the whole folder again."
            ) from None

    def affine(self, name: str) -> Affine:
        """A linear map, or a layer norm (its scale and shift)."""
        return Affine(self.array(f"{name}.weight"), self.array(f"{name}.bias"))

    @property
    def output(self) -> Affine:
        return self.affine("output")

    @property
    def target_table(self) -> Array:
        """The target's embedding table; a tied one is stored under its first name, output.weight."""
        return self.array("output.weight" if self.config.model.tied else "target_table.weight")

    @property
    def source_table(self) -> Array:
        return self.tensors.get("source_table.weight", self.tensors.get("output.weight"))  # type: ignore[return-value]

    def positions(self, side: str, length: int) -> Array:
        """Positional encodings of `side` (source, target) for positions 0 .. length - 1."""
        width = self.config.model.width
        match self.config.model.positions:
            case "sinusoidal":
                return sinusoids(length, width)
            case "learned":
                return self.array(f"{side}_positions.table")
            case _:
                return np.zeros((length, width), np.float32)

    def layers(self, side: str) -> Iterator[str]:
        """The name prefix of each layer of `side` (encoder, decoder)."""
        model = self.config.model
        number = (model.decoder_layers or model.layers) if side == "decoder" else model.layers
        return (f"{side}.{depth}" for depth in range(number))

    def queries_keys_values(self, block: str) -> tuple[Affine, Affine, Affine]:
        """The maps to queries, keys and values of an attention layer, such as encoder.0.attention."""
        both = self.affine(f"{block}.W_kv")
        return self.affine(f"{block}.W_q"), both.rows(0, 2), both.rows(1, 2)

    def norm(self, layer: str, sublayer: str) -> Affine:
        return self.affine(f"{layer}.around_{sublayer}.norm")


def sinusoids(length: int, width: int) -> Array:
    """p(i, 2j) = sin(i / 10000^(2j/D)),  p(i, 2j+1) = cos, as in nn/positions.py; a test proves both equal."""
    angles = np.arange(length)[:, None] / 10000 ** (2 * np.arange((width + 1) // 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, -1)[:, :width].astype(np.float32)
