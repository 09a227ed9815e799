"""Threads that share one training step: each does its part, and all wait for the last, so results are deterministic.

A step of word vector training is many small operations. Splitting each of them over the cores costs more than it saves.
Here one thread does all operations of its part, on one core; torch and numpy release the lock meanwhile.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class Team:
    """Pool of threads:  with Team(2) as team: team.do([f, g])  returns [f(), g()]."""

    def __init__(self, threads: int | None) -> None:
        import torch

        self.size = threads or os.cpu_count() or 1
        self.threads_before = torch.get_num_threads()
        torch.set_num_threads(1)
        self.pool = ThreadPoolExecutor(max(1, self.size - 1), "vectors", torch.set_num_threads, (1,))

    def do(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run tasks in parallel; returns their results in order. The calling thread does the first task."""
        if self.size == 1:
            return [task() for task in tasks]
        others = [self.pool.submit(task) for task in tasks[1:]]
        try:
            first = [task() for task in tasks[:1]]
        finally:
            found = [other.result() for other in others]
        return first + found

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        import torch

        self.pool.shutdown()
        torch.set_num_threads(self.threads_before)
