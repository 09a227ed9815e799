"""Checks the table of character replacements that sentencepiece models bring along (normalizer `Precompiled`).

The library follows the offsets in the table without a look at its length, and fails on a wrong one. So every offset
that it could follow is checked here once, when the file is read. The layout is that of Darts-clone:

    length of the trie in bytes (4)   the trie: units of 4 bytes   replacements in UTF-8, each ending with a zero byte
    unit: bits 0 to 7 label, bit 8 has a leaf, bit 9 wide offset, from bit 10 on the offset; bit 31: this is a leaf
    children of unit p: p ^ offset ^ label; its leaf, at p ^ offset, is the place of its replacement
"""

import base64

from seqloom.errors import ModelError

LONGEST_REPLACEMENT = 128  # bytes; the longest of Unicode's own is 33


def check_charsmap(encoded: object) -> None:
    """Raise a ModelError unless every path through the table ends at a replacement within it."""
    try:
        table = base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else b""
        size = int.from_bytes(table[:4], "little")
        texts = table[4 + size :]
        texts.decode()
    except ValueError as error:
        raise ModelError(f"precompiled_charsmap: {error}") from None
    if not size or size % 1024 or not texts.endswith(b"\0"):  # the trie is made of blocks of 256 units
        raise ModelError("precompiled_charsmap: not a table of sentencepiece, or one cut short")
    if max(map(len, texts.split(b"\0"))) > LONGEST_REPLACEMENT:
        raise ModelError(f"precompiled_charsmap: a replacement of more than {LONGEST_REPLACEMENT} bytes")
    check_trie(table[4 : 4 + size], texts)


def check_trie(trie: bytes, texts: bytes) -> None:
    import numpy as np  # only imported tokenizers need it here

    units = np.frombuffer(trie, "<u4").astype(np.int64)
    nodes = np.flatnonzero(units < 2**31)
    reached = nodes ^ ((units[nodes] >> 10) << ((units[nodes] & 512) >> 6))
    if ((reached | 255) >= len(units)).any():
        raise ModelError("precompiled_charsmap: an offset beyond its end")
    places = units[reached[(units[nodes] >> 8 & 1) == 1]] & (2**31 - 1)
    letters = np.frombuffer(texts, np.uint8)
    if (places >= len(letters)).any() or (letters[places] & 0xC0 == 0x80).any():
        raise ModelError("precompiled_charsmap: a replacement outside of its texts")
