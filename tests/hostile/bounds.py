"""Runs a command on what a stranger sent: within a gigabyte and a time, to an exit code of the documented ones.

It runs in this process, because a hundred processes would take minutes: a bound of memory makes an allocation fail,
and an alarm ends what hangs.
"""

import os
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from seqloom.cli.app import main

GIGABYTE = 2**30
SECONDS = 30  # a loaded machine is slow


class TooSlow(BaseException):
    """Not an Exception, so that no reader takes it for its own."""


@contextmanager
def bounded(seconds: int = SECONDS) -> Iterator[None]:
    """Let what asks for a gigabyte fail (it comes on top of what the tests have), and end what hangs."""

    def ring(*_: object) -> None:
        raise TooSlow(f"more than {seconds} seconds")

    limits = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text("ascii").split()[5]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, ring)
    resource.setrlimit(resource.RLIMIT_DATA, (used + GIGABYTE, limits[1]))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_DATA, limits)
        signal.signal(signal.SIGALRM, before)


def end_of(words: Sequence[object], capfd: pytest.CaptureFixture[str], codes: Sequence[int]) -> str:
    """What a command said as its last line; it must end with one of these codes, and say why with one sentence."""
    capfd.readouterr()
    with bounded():
        code = main([str(word) for word in words])
    said = capfd.readouterr()
    errors = said.err.strip().splitlines()
    assert code in codes, (code, errors[-5:])
    assert "Traceback" not in said.err and "bug in Seqloom" not in said.err
    assert "\x1b" not in said.err + said.out, "control characters of a stranger reach the terminal"
    if code:
        sentences = [line for line in errors if line.startswith("seqloom: ")]
        assert len(sentences) == 1 or (code == 3 and not errors), errors[-5:]
    return errors[-1] if errors else ""


def put_in_place(file: Path, kind: str) -> None:
    """Put something that is no file with a content in the place of one."""
    file.unlink()
    if kind == "FIFO":
        os.mkfifo(file)
    elif kind == "socket":
        import socket

        here = Path.cwd()
        os.chdir(file.parent)  # the name of a socket may have 100 characters
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(file.name)
        os.chdir(here)
    elif kind == "folder":
        file.mkdir()
    elif kind == "terabyte":
        with file.open("wb") as stream:
            stream.truncate(2**40)  # no bytes on the disk
    elif kind == "nothing":
        file.touch()
    else:
        file.symlink_to(file.name if kind == "itself" else kind)


KINDS = ("FIFO", "socket", "folder", "/dev/zero", "/dev/tty", "itself", "nowhere", "terabyte", "nothing")
