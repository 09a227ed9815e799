"""Bulk work: a large file is answered in numbered chunks by several workers, and joined into one output.

Every chunk is written exactly once: workers only compute, and the parent writes an answer into a temporary file, syncs
it and renames it. So a kill at any moment loses only the chunks in work, and the same command continues with the
missing numbers. The output does not depend on the number, the place or the deaths of the workers.
"""

import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from seqloom.errors import Interrupted, SeqloomError, UsageError
from seqloom.files.lock import run_lock
from seqloom.progress import Progress, make_progress
from seqloom.scale.chunk_folder import ChunkFolder, parts_of
from seqloom.scale.work import Answer, Chunk, Outcome, Refused, Workers

TRIES = 3  # per chunk


@dataclass(frozen=True)
class Input:
    """The input of a bulk command: how many records, and a function that reads them chunk by chunk."""

    records: int
    chunks: int
    read: Callable[[], Iterator[Chunk]]
    unit: str = "line"


class Stopped(BaseException):
    """Ctrl-C or SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def refuse_old(out: Path) -> None:
    """Refuse an output that is there already: hours of work are never overwritten."""
    if out.is_dir():
        raise UsageError(f"--out {out}: a folder; want the name of a new file.")
    if out.exists() and not parts_of(out).exists():  # with its parts: a kill came just before they were deleted
        raise UsageError(f"--out {out}: the file exists; delete it or choose another name.")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}; create it first.")


def run_bulk(
    out: Path,
    manifest: Mapping[str, Any],
    given: Input,
    open_workers: Callable[[], Workers],
    *,
    label: str,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Answer every chunk that is missing, write the output file, and return the facts of all chunks in order."""
    folder = ChunkFolder(out)
    with run_lock(folder.path, user=label):
        done = folder.begin(manifest)
        if len(done) < given.chunks:
            if out.exists():
                raise UsageError(f"--out {out}: the file exists, but {folder.path} is not complete; rename the file.")
            if done:
                say(f"{folder.path}: {len(done):,} of {given.chunks:,} chunks are done; continuing with the others")
            answer_missing(folder, given, done, open_workers, label, say)
        facts = [*folder.facts(given.chunks)]
        folder.join(given.chunks)
    folder.remove()
    return facts


def answer_missing(
    folder: ChunkFolder,
    given: Input,
    done: set[int],
    open_workers: Callable[[], Workers],
    label: str,
    say: Callable[[str], None],
) -> None:
    """Let workers answer the missing chunks; Interrupted, or an error that names the chunks that failed, says more."""
    shift = Shift(folder, given, done, say)
    try:
        workers = open_workers()
        try:
            with signals_as_exceptions():
                shift.run(workers, label)
        finally:
            workers.close()
    except (Stopped, KeyboardInterrupt) as stop:
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        raise Interrupted(
            f"stopped: {len(shift.done):,} of {given.chunks:,} chunks are done and kept in {folder.path}. The same "
            "command continues.",
            128 + number,
        ) from None
    if shift.failed:
        listed = "\n".join(
            f"  chunk {number} ({where}): {why}" for number, (where, why) in sorted(shift.failed.items())
        )
        raise SeqloomError(
            f"{len(shift.failed):,} of {given.chunks:,} chunks failed {TRIES} times each:\n{listed}\n"
            f"The others are kept in {folder.path}. Look at these lines; the same command tries them again."
        )


@dataclass
class Shift:
    """One run of the workers over the missing chunks."""

    folder: ChunkFolder
    given: Input
    done: set[int]
    say: Callable[[str], None]
    failed: dict[int, tuple[str, str]] = field(default_factory=dict)  # number -> where, why
    tries: Counter[int] = field(default_factory=Counter)
    given_out: dict[int, Chunk] = field(default_factory=dict)  # being worked on
    again: deque[Chunk] = field(default_factory=deque)
    said: set[str] = field(default_factory=set)
    all_given: bool = False

    def run(self, workers: Workers, label: str) -> None:
        chunks = (chunk for chunk in self.given.read() if chunk.number not in self.done)
        records = self.count_done()
        with make_progress(label, self.given.records, unit=self.given.unit, start=records) as progress:
            self.give(workers, chunks)
            while self.given_out or self.again or not self.all_given:
                ended = [(self.given_out.pop(number), outcome) for number, outcome in workers.wait()]
                answers = [(chunk, found) for chunk, outcome in ended if (found := self.kept(chunk, outcome, progress))]
                self.give(workers, chunks)  # before anything is written, so that no worker waits for the disk
                for chunk, answer in answers:
                    self.write(chunk, answer, progress)
                    records += chunk.records
                    progress.update(records, {"chunks": f"{len(self.done):,}/{self.given.chunks:,}"})
            progress.finish(records, stopped=bool(self.failed))

    def count_done(self) -> int:
        """Records in the finished chunks; all chunks but the last have the same number."""
        each = -(-self.given.records // max(1, self.given.chunks))
        return min(self.given.records, len(self.done) * each)

    def give(self, workers: Workers, chunks: Iterable[Chunk]) -> None:
        for _ in range(workers.room()):
            chunk = self.again.popleft() if self.again else next(iter(chunks), None)
            if chunk is None:
                self.all_given = True
                return
            self.given_out[chunk.number] = chunk
            workers.give(chunk)

    def kept(self, chunk: Chunk, outcome: Outcome, progress: Progress) -> Answer | None:
        """The answer of a chunk; without one, the chunk is tried again, named at the end, or ends the command."""
        if isinstance(outcome, Answer):
            return outcome
        if isinstance(outcome, Refused):
            raise outcome.error
        self.tries[chunk.number] += 1
        if self.tries[chunk.number] < TRIES:
            progress.message(f"chunk {chunk.number} ({chunk.where}): {outcome.reason}; trying again")
            self.again.append(chunk)
        else:
            self.failed[chunk.number] = (chunk.where, outcome.reason)
        return None

    def write(self, chunk: Chunk, answer: Answer, progress: Progress) -> None:
        for notice in answer.notices:
            if notice not in self.said:  # every worker may have the same one
                self.said.add(notice)
                progress.message(notice)
        self.folder.write(chunk.number, answer)
        self.done.add(chunk.number)


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Raise Stopped at Ctrl-C and SIGTERM while inside; outside the main thread signals stay as they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
