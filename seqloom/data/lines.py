"""A file -> its lines: UTF-8 with or without BOM, LF or CRLF, plain or gzip, in blocks so that millions stream fast.

Only \\n ends a line: U+2028, U+0085, \\v or a lone \\r inside a text never split it. A line that is no UTF-8 becomes a
Fault that names the byte; it keeps its place, so nothing shifts.
"""

import gzip
import sys
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO

import msgspec

from seqloom.errors import DataError, UsageError, did_you_mean

BLOCK_SIZE = 1 << 20
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
STDIN = Path("-")


class Fault(msgspec.Struct, frozen=True, gc=False):
    """A line that is no usable pair: what kind of fault, where, and what was got."""

    kind: str
    line: int
    detail: str


def read_lines(path: Path, normalise: str = "none") -> Iterator[str | Fault]:
    """The lines without their ends, in order; `normalise` is "none" or "nfc"."""
    return chain.from_iterable(line_blocks(path, normalise))


def whole_lines(path: Path) -> Iterator[str]:
    """The lines of a file in which every line counts: one that is no text is refused."""
    for line in read_lines(path):
        if isinstance(line, Fault):
            raise DataError(f"{path}, line {line.line}: {line.kind}: {line.detail}. Convert the file to UTF-8.")
        yield line


def line_blocks(path: Path, normalise: str) -> Iterator[Sequence[str | Fault]]:
    first_line, offset = 1, 0
    for block in byte_blocks(path):
        skip = len(BOM) if offset == 0 and block.startswith(BOM) else 0
        try:
            lines: Sequence[str | Fault] = split_lines(block[skip:].decode(), normalise)
        except UnicodeDecodeError:
            lines = decode_each(block[skip:], first_line, offset + skip, normalise)
        yield lines
        first_line += len(lines)
        offset += len(block)


def split_lines(text: str, normalise: str) -> list[str]:
    if normalise == "nfc" and not text.isascii():
        text = unicodedata.normalize("NFC", text)  # nothing composes across \n or \t, so a block is as good as a text
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()  # what follows the last \n is no line
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def decode_each(block: bytes, first_line: int, offset: int, normalise: str) -> list[str | Fault]:
    """The slow way, for a block with a bad byte: the good lines stay good."""
    lines: list[str | Fault] = []
    for line, raw in enumerate(block.removesuffix(b"\n").split(b"\n"), first_line):
        try:
            lines += split_lines(raw.decode() + "\n", normalise)
        except UnicodeDecodeError as error:
            where = offset + error.start
            hint = "; the file looks like UTF-16" if offset == 0 and block.startswith(UTF16_BOMS) else ""
            lines.append(Fault("invalid UTF-8", line, f"byte 0x{raw[error.start]:02x} at offset {where}{hint}"))
        offset += len(raw) + 1
    return lines


def byte_blocks(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines; only the last may lack its \\n."""
    parts: list[bytes] = []  # joined once, so that a line of a gigabyte costs no more than its length
    with open_bytes(path) as stream:
        while chunk := stream.read(BLOCK_SIZE):
            end = chunk.rfind(b"\n") + 1
            if not end:
                parts.append(chunk)
                continue
            yield b"".join([*parts, chunk[:end]])
            parts = [chunk[end:]]
    if last := b"".join(parts):
        yield last


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file (gzip is known by its first two bytes, also without .gz) or of standard input."""
    check_file(path)
    try:
        with nullcontext(standard_input()) if path == STDIN else path.open("rb") as raw:
            packed = raw.peek(2)[:2] == GZIP  # type: ignore[attr-defined]
            if path.suffix == ".gz" and not packed:
                raise DataError(f"{path}: named .gz but no gzip file; rename it if it is plain text.")
            yield gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[misc]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path}: a damaged gzip file ({error}). Fetch or pack it again; `gzip -t` checks it."
        ) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("standard input is closed: name a file, or pipe text into the command")
    return sys.stdin.buffer


def check_file(path: Path) -> None:
    """A UsageError when there is no such file; a near name in the same folder is suggested."""
    if path == STDIN or path.is_file():
        return
    if path.is_dir():
        raise UsageError(f"{path}: a folder; want a file.")
    if path.exists():
        raise UsageError(f"{path}: a pipe or a device can be read only once; want a file, or - for standard input.")
    folder = path.parent
    near = did_you_mean(path.name, (file.name for file in folder.iterdir())) if folder.is_dir() else ""
    raise UsageError(
        f"{path}: no such file." + (near or ("" if folder.is_dir() else f" Nor is there a folder {folder}."))
    )
