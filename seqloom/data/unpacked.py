"""The content of a gzip file, compared with its size: a bomb is refused before it fills time and disk."""

import gzip
from pathlib import Path

from seqloom.data.encodings import Readable
from seqloom.errors import DataError

# gzip makes text four to ten times smaller, tables of numbers or of repeated lines up to a hundred times.
MOST_UNPACKED, MOST_TIMES = 1 << 24, 200  # bytes from which a packed file is compared with its size, and how many times


class Counted:
    """A stream, and how many bytes have been read from it."""

    def __init__(self, stream: Readable) -> None:
        self.stream, self.count = stream, 0

    def read(self, size: int) -> bytes:
        block = self.stream.read(size)
        self.count += len(block)
        return block


class Unpacked(gzip.GzipFile):
    """The content of a gzip file; one of a few bytes that never ends is refused."""

    def __init__(self, packed: Readable, path: Path) -> None:
        self.packed, self.path, self.count = Counted(packed), path, 0
        super().__init__(fileobj=self.packed, mode="rb")  # type: ignore[call-overload]

    def read(self, size: int | None = -1) -> bytes:
        block = super().read(size)
        self.count += len(block)
        if self.count > max(MOST_UNPACKED, MOST_TIMES * self.packed.count):
            raise DataError(
                f"{self.path}: unpacks to more than {MOST_TIMES} times its size, which no text does. If you trust it, "
                "unpack it (`gzip -d`) and give the file that comes out."
            )
        return block
