"""Pairs that may be there only once, copied to a file: standard input here, Python's objects in given.py."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.data.forms import LINE
from seqloom.data.lines import BLOCK_SIZE, STDIN, open_bytes
from seqloom.errors import UsageError
from seqloom.files.durable import new_file


def spool_stdin(
    folder: Path, columns: str | Sequence[str] | ReadAs | None = None, started: bool = False, form: str = "pairs"
) -> CorpusSpec:
    """Copy standard input to a file in the folder, so that it can be read again; it appears whole or not at all.

    started: a run in this folder continues with the file that is there; its pairs need not be piped in again.
    """
    file = folder / ("stdin.txt" if form == "labelled" else "stdin.tsv")  # a label may also end at a space
    if sys.stdin is not None and not sys.stdin.isatty():
        nothing = "-: standard input is empty; pipe the pairs into it again." if file.is_file() else ""
        keep_or_write(file, stdin_blocks(), started, "-: standard input", nothing)
    elif not (started and file.is_file()):
        raise UsageError(f"-: standard input is the keyboard; pipe a file into it, each line {LINE[form]}")
    return CorpusSpec.parse(str(file), columns, form=form)


def stdin_blocks() -> Iterator[bytes]:
    """Yield the bytes of standard input, so that an error in reading them is not taken for one in writing the file."""
    with open_bytes(STDIN) as stream:
        while block := stream.read(BLOCK_SIZE):
            yield block


def keep_or_write(file: Path, blocks: Iterator[bytes], started: bool, whose: str, nothing: str) -> None:
    """Write the blocks to the file, which appears whole or not at all; a started run keeps its file.

    A UsageError for other content than a started run has. nothing: the error for no content, where that is one.
    """
    if started and file.is_file():
        refuse_other(file, blocks, whose)
        return
    with new_file(file) as out:
        out.writelines(blocks)
        if nothing and not out.tell():
            raise UsageError(nothing)


def refuse_other(file: Path, blocks: Iterator[bytes], whose: str) -> None:
    """Raise a UsageError if the blocks are neither empty nor equal to the file that the run was started with."""
    with file.open("rb") as known:
        same = all(block == known.read(len(block)) for block in blocks)
        if not same or (known.tell() and known.read(1)):
            raise UsageError(
                f"{whose}: other pairs than {file}, with which this run was started. "
                "Give the same pairs, or nothing to continue with that file, or choose another --out."
            )
