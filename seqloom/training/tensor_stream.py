"""Write tensors to a safetensors file one at a time, as they arrive: they need not fit into memory together.

    8 bytes    length of the header
    header     JSON: name -> dtype, shape, where its bytes begin and end
    bytes      of all tensors, in the order of their names

The library writes tensors that are all in memory; it reads these files like its own.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from seqloom.files.durable import open_no_link

Kind = tuple[str, tuple[int, ...]]  # dtype and shape
DTYPES = {"float32": "F32", "float64": "F64", "bfloat16": "BF16", "float16": "F16", "int64": "I64"}


@dataclass(frozen=True)
class TensorStream:
    """Tensors whose kinds are known, and which are taken one by one, in the order of their names."""

    kinds: Mapping[str, Kind]
    take: Callable[[str], Tensor]

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "TensorStream":
        return cls({name: kind_of(tensor) for name, tensor in tensors.items()}, tensors.__getitem__)

    def write(self, file: Path) -> tuple[int, str]:
        """Write them all; return the size of the file and its SHA-256."""
        digest = hashlib.sha256()
        header = self.header()
        size = 0
        with open_no_link(file, "wb") as out:
            for content in (len(header).to_bytes(8, "little"), header):
                digest.update(content)
                size += out.write(content)
            for name in sorted(self.kinds):
                tensor = self.take(name).detach().cpu().contiguous()
                if kind_of(tensor) != self.kinds[name]:
                    raise ValueError(f"{name}: {kind_of(tensor)}, announced as {self.kinds[name]}")
                numbers = tensor.reshape(-1).view(torch.uint8).numpy().data
                digest.update(numbers)
                size += out.write(numbers)
        return size, digest.hexdigest()

    def header(self) -> bytes:
        entries, begin = {}, 0
        for name in sorted(self.kinds):
            dtype, shape = self.kinds[name]
            end = begin + math.prod(shape) * getattr(torch, dtype).itemsize
            entries[name] = {"dtype": DTYPES[dtype], "shape": shape, "data_offsets": [begin, end]}
            begin = end
        text = json.dumps(entries, separators=(",", ":")).encode()
        return text + b" " * (-len(text) % 8)  # the tensors begin at a multiple of 8


def kind_of(tensor: Tensor) -> Kind:
    return str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)
