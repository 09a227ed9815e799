"""A look at a file before it is read: bytes from its beginning and from places spread over the whole file.

A packed file and standard input cannot be entered in the middle: their sample is the beginning.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

from seqloom.data.lines import STDIN, open_bytes

HEAD = 1 << 16  # bytes at the beginning
PIECES = 12  # places after it
PIECE = 1 << 14  # bytes at each place; a multiple of 4, so that wide characters are not cut


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, and pieces from later places; all of it when it is short."""

    head: bytes
    pieces: tuple[bytes, ...] = ()
    whole: bool = True  # nothing of the file is missing

    @property
    def bytes(self) -> bytes:
        """All bytes of the sample."""
        return b"".join((self.head, *self.pieces))

    def lines(self, encoding: str, line_end: str = "\n") -> list[list[str]]:
        """Return the whole lines of each piece; what is cut off at the ends of a piece is left out."""
        found = []
        for place, piece in enumerate((self.head, *self.pieces)):
            lines = piece.decode(encoding, "replace").removeprefix("\ufeff").replace(line_end, "\n").split("\n")
            if place:
                lines = lines[1:]
            if len(lines) > 1 and not (self.whole and lines[-1]):
                lines.pop()
            found.append([line.rstrip("\r") for line in lines])
        return found


def sample_of(file: Path) -> Sample:
    """Take a sample of a file; standard input has none, because it can be read only once."""
    if file == STDIN:
        return Sample(b"", whole=False)
    with open_bytes(file) as stream:
        head = stream.read(HEAD)
        size = 0 if isinstance(stream, gzip.GzipFile) else file.stat().st_size
        if len(head) < HEAD or size == len(head):
            return Sample(head)
        if not size:
            return Sample(head + stream.read(PIECES * PIECE), whole=False)
        if size <= HEAD + PIECES * PIECE:
            return Sample(head + stream.read(size))
        pieces = []
        for number in range(1, PIECES + 1):
            place = HEAD + (size - HEAD - PIECE) * number // PIECES
            stream.seek(place - place % 4)
            pieces.append(stream.read(PIECE + place % 4))
        return Sample(head, tuple(pieces), whole=False)
