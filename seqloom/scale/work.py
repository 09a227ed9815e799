"""Work for a worker process: a job (opened once per worker), chunks of its input, and the outcome of each chunk."""

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol

from seqloom.errors import SeqloomError


@dataclass(frozen=True, slots=True)
class Chunk:
    """A numbered part of the input."""

    number: int
    records: int
    where: str  # in words, for messages: "lines 1 to 1,024"
    content: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of one chunk: its bytes, facts to be summed up at the end, and notices for the user."""

    output: bytes
    facts: dict[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A chunk without an answer, because its worker ended or failed: another try may succeed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A chunk, or a model, that every worker would refuse in the same way."""

    error: SeqloomError


Outcome = Answer | Lost | Refused


class Job(Hashable, Protocol):
    """What workers do. A job is hashable and can be sent to another process; `load` loads the model there."""

    @property
    def threads(self) -> int: ...

    def load(self) -> Callable[[Any], Answer]: ...


class Workers(Protocol):
    """A group of workers, wherever they are."""

    def room(self) -> int:
        """How many further chunks can be given now."""

    def give(self, chunk: Chunk) -> None:
        """Start the work on a chunk; only if there is room."""

    def wait(self) -> list[tuple[int, Outcome]]:
        """Wait until something has happened; the numbers of the chunks that ended, each with its outcome."""

    def close(self) -> None:
        """End all workers."""


@functools.lru_cache(maxsize=1)
def opened(job: Job) -> Callable[[Any], Answer]:
    """The opened job; a process loads its model once."""
    return job.load()


def attempt(job: Job, content: Any) -> Outcome:
    """Answer one chunk in this process; an error becomes an outcome, because exceptions do not travel well."""
    try:
        return opened(job)(content)
    except SeqloomError as error:
        return Refused(error)
    except Exception as error:
        return Lost(f"{type(error).__name__}: {error}")
