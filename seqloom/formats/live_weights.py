"""Arrays as text in a page: small ones as numbers, large ones in 16 or 8 bits, compressed, in base 85.

float32   as it is: an array with a number that 16 bits cannot hold (biases that forbid a token)
float16   all low bytes, then all high bytes: signs and exponents, which are alike, compress well side by side
uint8     one float32 scale per row, then a byte per number:  number = (byte - 128) * scale
"""

import base64
import json
import zlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bits = Literal[8, 16]
SMALL = 64  # an array of fewer numbers is written as numbers
ZERO = 128  # the byte of 0: both signs reach equally far
IN_A_PAGE = str.maketrans("&<>", ".,:")  # no character of the weights means anything to HTML


def pack(arrays: list[Array], bits: Bits) -> dict[str, Any]:
    """Return {"arrays": one description per array, "data": the bytes of the large ones}."""
    described: list[dict[str, Any]] = []
    sections = []
    for array in arrays:
        if array.dtype.kind != "f" or array.size < SMALL:
            described.append({"type": str(array.dtype), "shape": [*array.shape], "values": as_numbers(array)})
            continue
        kind, section = as_bytes(array) if bits == 8 and array.ndim > 1 else as_halves(array)
        described.append({"type": kind, "shape": [*array.shape], "bytes": len(section)})
        sections.append(section)
    return {"arrays": described, "data": compressed(b"".join(sections))}


def pack_json(value: Any) -> str:
    """Return plain lists and dictionaries as compressed text."""
    return compressed(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def compressed(content: bytes) -> str:
    return base64.b85encode(zlib.compress(content, 9)).decode().translate(IN_A_PAGE)


def as_numbers(array: Array) -> list[Any]:
    """Return the numbers of an array; JSON has no infinity, so that is a word, as JavaScript reads it."""
    return [str(each).replace("inf", "Infinity") if np.isinf(each) else each for each in array.flatten().tolist()]


def as_halves(array: Array) -> tuple[str, bytes]:
    if np.abs(array).max() > np.finfo(np.float16).max:
        return "float32", array.astype("<f4").tobytes()
    planes = array.astype("<f2").reshape(-1).view(np.uint8).reshape(-1, 2)
    return "float16", planes[:, 0].tobytes() + planes[:, 1].tobytes()


def as_bytes(array: Array) -> tuple[str, bytes]:
    codes, scales = in_steps(array)
    return "uint8", scales.astype("<f4").tobytes() + (codes + ZERO).astype(np.uint8).tobytes()


def in_steps(array: Array) -> tuple[Array, Array]:
    """Return whole numbers from -127 to 127 and the scale of each row, as fine as its largest number allows."""
    rows = array.reshape(-1, array.shape[-1]).astype(np.float32)
    scales = (np.abs(rows).max(1, keepdims=True) / (ZERO - 1)).astype(np.float32)
    scales[scales == 0] = 1
    return np.rint(rows / scales), scales
