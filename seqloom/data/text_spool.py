"""Texts on disk between the pass that checks them and the tokenizer that learns from them.

The input file is read once for both, and memory stays small however long it is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec

from seqloom.data.checks import Chunk
from seqloom.files.durable import cannot_write

LENGTH_BYTES = 8


class TextSpool:
    """A temporary file of texts, chunk by chunk; it has no name and vanishes with the process."""

    def __init__(self, folder: Path, sides: Sequence[str]) -> None:
        """folder: where the file is; sides: which texts of a pair to keep, of "source" and "target"."""
        self.folder, self.sides = folder, tuple(sides)
        self.pairs = 0
        try:
            self.file = TemporaryFile(dir=folder)  # noqa: SIM115  closed by __exit__
        except OSError as error:
            raise cannot_write(folder, error) from error

    def __enter__(self) -> "TextSpool":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, chunk: Chunk) -> None:
        """Append the texts of these pairs."""
        self.pairs += len(chunk.lines)
        if not self.sides:
            return
        texts = {"source": chunk.sources, "target": chunk.targets}
        record = msgspec.msgpack.encode([texts[side] for side in self.sides])
        try:
            self.file.write(len(record).to_bytes(LENGTH_BYTES) + record)
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def read(self, sides: Sequence[str]) -> Iterator[str]:
        """Yield the texts of these sides, pair after pair."""
        self.file.seek(0)
        places = [self.sides.index(side) for side in sides]
        decode: Any = msgspec.msgpack.Decoder(list[list[str]]).decode
        while length := self.file.read(LENGTH_BYTES):
            kept = decode(self.file.read(int.from_bytes(length)))
            for texts in zip(*(kept[place] for place in places), strict=True):
                yield from texts
