"""Worker processes on this machine: each loads the model once, then answers one chunk after another.

Workers are spawned and not forked: CTranslate2 and torch have threads, which a fork does not copy. A worker that ends,
for example by kill -9, is replaced, and its chunk is reported as lost. If the parent ends, its workers end too.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from seqloom.errors import ModelError
from seqloom.scale.work import Chunk, Job, Lost, Outcome, Refused, attempt, opened

READY = None
MOST_FAILED_STARTS = 5  # in a row; more cannot be chance


@dataclass
class Worker:
    """One process, and the number of the chunk that it has."""

    process: BaseProcess
    pipe: Connection
    ready: bool = False
    number: int | None = None

    @property
    def is_idle(self) -> bool:
        return self.ready and self.number is None


class LocalWorkers:
    """A fixed number of worker processes."""

    def __init__(self, job: Job, number: int) -> None:
        self.job, self.failed_starts = job, 0
        self.context = multiprocessing.get_context("spawn")
        self.workers = [self.start() for _ in range(number)]

    def start(self) -> Worker:
        here, there = self.context.Pipe()
        process = self.context.Process(target=work, args=(self.job, there), daemon=True)
        process.start()
        there.close()  # so that the end of the process is the end of the pipe
        return Worker(process, here)

    def room(self) -> int:
        return sum(worker.is_idle for worker in self.workers)

    def give(self, chunk: Chunk) -> None:
        worker = next(worker for worker in self.workers if worker.is_idle)
        worker.number = chunk.number
        with suppress(OSError):  # it has just ended; `wait` will find that out
            worker.pipe.send(chunk.content)

    def wait(self) -> list[tuple[int, Outcome]]:
        wait([each for worker in self.workers for each in (worker.pipe, worker.process.sentinel)])
        return [found for place in range(len(self.workers)) for found in self.look(place)]

    def look(self, place: int) -> Iterator[tuple[int, Outcome]]:
        """Yield what the worker at this place has sent; replace it if it has ended."""
        worker = self.workers[place]
        try:
            if not worker.pipe.poll():
                if worker.process.is_alive():
                    return
                raise EOFError
            outcome = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self.renew(place)
            return
        if outcome is READY:
            worker.ready, self.failed_starts = True, 0
        elif worker.number is None:
            raise outcome.error  # the model does not load
        else:
            number, worker.number = worker.number, None
            yield number, outcome

    def renew(self, place: int) -> Iterator[tuple[int, Outcome]]:
        worker = self.workers[place]
        worker.pipe.close()
        worker.process.join()
        ended = how_it_ended(worker.process.exitcode)
        self.failed_starts += not worker.ready
        if self.failed_starts >= MOST_FAILED_STARTS:
            raise ModelError(
                f"{self.failed_starts} workers in a row ended before the model was loaded (the last one {ended}). If "
                "the memory is full, use fewer --workers."
            )
        self.workers[place] = self.start()
        if worker.number is not None:
            yield worker.number, Lost(f"its worker {ended}")

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill()  # a worker writes nothing: there is nothing to save
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()


def how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was ended by signal {-code} ({signal.strsignal(-code)})"
    return f"ended with exit code {code}"


def work(job: Job, pipe: Connection) -> None:
    """The main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what to do
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        opened(job)
    except Exception:  # `attempt` makes an outcome of it
        outcome = attempt(job, None)
        if isinstance(outcome, Refused):
            pipe.send(outcome)
            return
        raise
    with suppress(EOFError, OSError):  # the parent has closed the pipe
        pipe.send(READY)
        while True:
            pipe.send(attempt(job, pipe.recv()))


def end_with_parent() -> None:
    """End this process when its parent has ended, also in the middle of a chunk."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
