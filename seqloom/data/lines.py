"""Read the lines of a file: UTF-8 with or without BOM, LF or CRLF, plain or gzip, in blocks for speed.

Only \\n ends a line: U+2028, U+0085, \\v or a lone \\r inside a text never split it. A line that is not UTF-8 becomes a
Fault that names the byte; it keeps its place, so no later line shifts. So does a line without end, which a packed file
of a few bytes may hold: its length is counted and its content is not kept. Another encoding is turned into UTF-8 first
(`encodings.Transcoded`).

Two things are refused, because no data has them and reading them takes hours: a million blank lines one after the
other, and a packed file that unpacks to hundreds of times its size.

A file can be hashed while it is read, so that its SHA-256 costs no further reading (`FileHash`).
"""

import codecs
import gzip
import hashlib
import os
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, TypeVar

import msgspec

from seqloom.data.encodings import UTF8, Readable, Transcoded
from seqloom.data.unpacked import Unpacked
from seqloom.errors import DataError, UsageError, did_you_mean

BLOCK_SIZE = 1 << 20
LONGEST_LINE = 1 << 22  # bytes
MOST_BLANK = 1_000_000  # blank lines one after the other
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
NEWLINE = b"\n"
STDIN = Path("-")
ENDLESS = "endless line"
T = TypeVar("T")


class Fault(msgspec.Struct, frozen=True, gc=False):
    """A line that is not a usable pair: the kind of fault, the line, and what the line holds instead."""

    kind: str
    line: int
    detail: str


class FileHash(NamedTuple):
    """The SHA-256 of a file's bytes, with what shows whether the file has changed since."""

    name: str  # absolute
    size: int
    mtime_ns: int
    sha256: str


def read_lines(
    path: Path,
    normalise: str = "none",
    hashes: list[FileHash] | None = None,
    encoding: str = UTF8,
    line_end: str = "\n",
    fold: bool = False,
) -> Iterator[str | Fault]:
    """Yield the lines without their ends, in order; `normalise` is "none" or "nfc".

    hashes: a list to append the file's hash to, once the last line has been read. line_end: \\r for old Macs.
    fold: running text, where a line of megabytes may end at a blank (`Folded`).
    """
    return chain.from_iterable(line_blocks(path, normalise, hashes, encoding, line_end, fold))


def whole_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file in which every line counts; a DataError for a line that is not UTF-8."""
    for line in read_lines(path):
        if isinstance(line, Fault):
            advice = "Split the line." if line.kind == ENDLESS else "Convert the file to UTF-8."
            raise DataError(f"{path}, line {line.line}: {line.kind}: {line.detail}. {advice}")
        yield line


def line_blocks(
    path: Path, normalise: str, hashes: list[FileHash] | None, encoding: str, line_end: str, fold: bool
) -> Iterator[Sequence[str | Fault]]:
    first_line, offset, blank = 1, 0, 0
    for block in byte_blocks(path, hashes, encoding, line_end, fold):
        if isinstance(block, int):
            yield [Fault(ENDLESS, first_line, f"{block:,} bytes, {LONGEST_LINE:,} are allowed")]
            first_line, offset, blank = first_line + 1, offset + block, 0
            continue
        blank = blank + block.count(b"\n") if block.isspace() else 0  # whole blocks, so that this takes no time
        if blank > MOST_BLANK:
            raise DataError(
                f"{path}: more than {MOST_BLANK:,} blank lines one after the other, until line "
                f"{first_line + block.count(NEWLINE) - 1:,}. Delete them (in both files, if this is one of two)."
            )
        skip = len(BOM) if offset == 0 and block.startswith(BOM) else 0
        try:
            lines: Sequence[str | Fault] = split_lines(block[skip:].decode(), normalise)
        except UnicodeDecodeError:
            lines = decode_each(block[skip:], first_line, offset + skip, normalise, encoding)
        yield lines
        first_line += len(lines)
        offset += len(block)


def split_lines(text: str, normalise: str) -> list[str]:
    if normalise == "nfc" and not text.isascii():
        text = unicodedata.normalize("NFC", text)  # nothing composes across \n or \t, so a block is as good as a text
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()  # nothing follows the last \n
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def decode_each(block: bytes, first_line: int, offset: int, normalise: str, encoding: str) -> list[str | Fault]:
    """The slow way, for a block with a bad byte: the good lines stay good."""
    lines: list[str | Fault] = []
    for line, raw in enumerate(block.removesuffix(b"\n").split(b"\n"), first_line):
        try:
            lines += split_lines(raw.decode() + "\n", normalise)
        except UnicodeDecodeError as error:
            if encoding == UTF8:
                where = f"byte 0x{raw[error.start]:02x} at offset {offset + error.start}"
                lines.append(Fault("invalid UTF-8", line, where))
            else:  # the bytes on the disk are others
                lines.append(Fault("invalid bytes", line, f"not {encoding}"))
        offset += len(raw) + 1
    return lines


def byte_blocks(
    path: Path, hashes: list[FileHash] | None, encoding: str, line_end: str, fold: bool
) -> Iterator[bytes | int]:
    """Yield blocks of whole lines in UTF-8; only the last may lack its \\n. Of a line that is too long: its length."""
    parts: list[bytes] = []  # joined once, so that a long line costs no more than its length
    length = 0
    with open_text(path, hashes, encoding, line_end) as opened:
        stream = Folded(opened) if fold else opened
        while chunk := stream.read(BLOCK_SIZE):
            first, last = chunk.find(b"\n") + 1, chunk.rfind(b"\n") + 1
            length += first or len(chunk)
            if length > LONGEST_LINE:
                parts = []
                if first:
                    yield length
            else:
                parts.append(chunk[:first] if first else chunk)
            if first:
                yield b"".join([*parts, chunk[first:last]])
                parts, length = [chunk[last:]], len(chunk) - last
    if length > LONGEST_LINE:
        yield length
    elif length:
        yield b"".join(parts)


def text_blocks(path: Path, hashes: list[FileHash] | None, encoding: str, line_end: str) -> Iterator[str | Fault]:
    """Yield the text of a file in blocks that end anywhere; a Fault ends it where the bytes are not UTF-8."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    line = 1
    with open_text(path, hashes, encoding, line_end) as stream:
        while chunk := stream.read(BLOCK_SIZE):
            try:
                yield decode(chunk)
            except UnicodeDecodeError as error:
                line += bytes(error.object[: error.start]).count(b"\n")
                yield Fault("invalid UTF-8", line, f"byte 0x{error.object[error.start]:02x}")
                return
            line += chunk.count(b"\n")
        try:
            decode(b"", final=True)
        except UnicodeDecodeError:
            yield Fault("invalid UTF-8", line, "the last character is cut off")


class Folded:
    """A stream in which a line that grows beyond half the limit ends at a blank, as in corpora of one line (text8)."""

    def __init__(self, stream: Readable) -> None:
        self.stream, self.length = stream, 0  # of the line so far

    def read(self, size: int) -> bytes:
        block = self.stream.read(size)
        last = block.rfind(b"\n")
        if last < 0 and self.length > LONGEST_LINE // 2 and (last := block.rfind(b" ")) >= 0:
            block = block[:last] + b"\n" + block[last + 1 :]
        self.length = len(block) - last - 1 if last >= 0 else self.length + len(block)
        return block


class HashingReader:
    """A file that is hashed as it is read: the bytes on the disk, packed or not."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.raw, self.digest, self.found = raw, hashlib.sha256(), os.fstat(raw.fileno())

    def read(self, size: int) -> bytes:
        block = self.raw.read(size)
        self.digest.update(block)
        return block

    def finish(self, path: Path) -> FileHash:
        """Read what is left, e.g. zeros behind a gzip file, and return the hash."""
        while self.read(BLOCK_SIZE):
            pass
        return FileHash(name_of(path.resolve()), self.found.st_size, self.found.st_mtime_ns, self.digest.hexdigest())


def first_few(items: Iterator[T], most: int, length: Callable[[T], int]) -> list[T]:
    """Take the first items, at most so many, and fewer where they are long."""
    taken: list[T] = []
    room = LONGEST_LINE
    while len(taken) < most and room > 0:
        more = next(items, None)
        if more is None:
            break
        taken.append(more)
        room -= length(more)
    return taken


def name_of(path: Path | str) -> str:
    """The name of a file as text that can be written: a byte that is not UTF-8 is spelled \\xff."""
    return os.fsencode(path).decode(errors="backslashreplace")


@contextmanager
def open_text(path: Path, hashes: list[FileHash] | None, encoding: str, line_end: str = "\n") -> Iterator[Readable]:
    """Open a file as a stream of UTF-8, whatever its encoding is."""
    with open_bytes(path, hashes) as stream:
        yield stream if (encoding, line_end) == (UTF8, "\n") else Transcoded(stream, encoding, line_end)


@contextmanager
def open_bytes(path: Path, hashes: list[FileHash] | None = None, unpack: bool = True) -> Iterator[IO[bytes]]:
    """Open a file or standard input and unpack gzip, which its first two bytes show, also without .gz in the name.

    hashes: a list to append the file's hash to when the block ends well; standard input has none.
    """
    check_file(path)
    try:
        with nullcontext(standard_input()) if path == STDIN else path.open("rb") as raw:
            packed = unpack and raw.peek(2)[:2] == GZIP  # type: ignore[attr-defined]
            if unpack and path.suffix == ".gz" and not packed:
                raise DataError(
                    f"{path}: the name ends in .gz, but this is not a gzip file; rename it if it is plain text."
                )
            hashed = HashingReader(raw) if hashes is not None and path != STDIN else None
            source = hashed or raw
            yield Unpacked(source, path) if packed else source  # type: ignore[misc]
            if hashes is not None and hashed:
                hashes.append(hashed.finish(path))
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
    """Raise a UsageError when there is no such file; it suggests a similar name in the same folder."""
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
