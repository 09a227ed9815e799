"""Reads the files of a folder that may come from a stranger: regular files only, up to a size, and no parser's crash.

What cannot be read is an OSError and what cannot be parsed a ValueError, each with a short reason; the caller adds what
the file is and what to do. A FIFO or a device would never end, a link could lead to somebody's private files, and a
file of deeply nested brackets or of a million digits would stop the parser with another error.
"""

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# The most bytes per kind of file: several times the largest that is known.
SETTINGS = 2**20  # config.toml, run.json, manifests
STATE = 2**26  # state.json of a checkpoint, golden.json, scores
TOKENIZER = 2**26
LOG = 2**28  # metrics.jsonl
TEXTS = 2**30  # the texts of a validation part

MOST_PARTS = 2**23  # values in a JSON file: an empty list is two bytes there and 64 in memory
MOST_DEEP = 32  # folders inside each other
MOST_DOTS = 200  # in a line of TOML: the parser needs the square of the parts of a key
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)  # fmt: skip


class Refused(OSError):
    """A file that is not read; its text is the reason alone."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(file))

    def __str__(self) -> str:
        return str(self.strerror)


def read_file(file: Path, most: int, links: bool = False) -> bytes:
    """Return the content of a regular file of at most `most` bytes. links: also of one outside, through a link."""
    with open_regular(file, links) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(size + 1) if size <= most else b""  # memory for so much is taken before it is read
    if max(size, len(content)) > most:
        raise Refused(file, f"larger than {most:,} bytes, which no such file is")
    return content


def read_json(file: Path, most: int, links: bool = False) -> Any:
    return parse_json(read_file(file, most, links))


@contextmanager
def open_regular(file: Path, links: bool = False) -> Iterator[IO[bytes]]:
    """Open a regular file to read; a FIFO does not block, and a device is never opened."""
    check_regular(file, links)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags), "rb") as stream:
        refuse_strange(file, os.fstat(stream.fileno()).st_mode)  # it may have been exchanged meanwhile
        yield stream


def check_regular(file: Path, links: bool = False) -> None:
    """Refuse anything but a regular file, before a library opens it; and a link that leaves the file's folder."""
    if not links and leaves(file, file.parent):
        raise Refused(file, "a link that leaves its folder; copy the file itself")
    refuse_strange(file, file.stat().st_mode)


def leaves(entry: Path, folder: Path) -> bool:
    """Whether an entry is a link to something outside this folder."""
    if not entry.is_symlink():
        return False
    real = os.path.realpath(folder)
    return os.path.commonpath((real, os.path.realpath(entry))) != real


def check_inner_folders(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder in a model folder, or in one of these, that is a link to elsewhere.

    The files in it would be regular ones of somebody else.
    """
    for name in names:
        if leaves(folder / name, folder):
            raise Refused(folder / name, "a link that leaves the model folder; copy what it names")
        for each in entries_of(folder / name):
            if each.is_dir() and leaves(each, folder):
                raise Refused(each, "a link that leaves the model folder; copy what it names")


def entries_of(folder: Path) -> Iterator[Path]:
    """Yield everything in a folder and in the folders inside it, in a fixed order; links are yielded, not followed.

    The library's own walk calls itself for each folder inside a folder, so a thousand of them end it.
    """
    waiting = [folder] if folder.is_dir() else []
    most = len(folder.parts) + MOST_DEEP
    while waiting:
        place = waiting.pop()
        if len(place.parts) > most:
            raise Refused(folder, f"more than {MOST_DEEP} folders inside each other, which no model has")
        entries = sorted(place.iterdir())
        yield from entries
        waiting += [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]


def refuse_strange(file: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_one, name in KINDS if is_one(mode)), "something else")
        raise Refused(file, f"{kind}, not a regular file")


def is_plain_name(name: object) -> bool:
    """Whether a name from a manifest is that of a file in the same folder: no path, no parent, not hidden."""
    return isinstance(name, str) and bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,200}", name))


def parse_json(content: bytes | str) -> Any:
    """Parse JSON; every fault is a ValueError."""
    content = content.encode() if isinstance(content, str) else content
    if sum(map(content.count, (b"[", b"{", b","))) > MOST_PARTS:
        raise ValueError(f"more than {MOST_PARTS:,} values, which no such file has")
    try:
        value = json.loads(content)
        half = SURROGATE.search(content) and has_half_character(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if half:
        raise ValueError("half of a character (a lone surrogate)")
    return value


def has_half_character(value: Any) -> bool:
    """Whether a text of a JSON value has a lone surrogate: two are one character, one cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; every fault is a ValueError."""
    if any(line.count(".") > MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"a line with more than {MOST_DOTS} dots, which no such file has")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
