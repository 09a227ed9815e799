"""Files of clients that are being translated, and the results that wait to be fetched: how many, how large, how long.

Each file is a task of its own. A result is kept in memory until its client deletes it, its time is over, or a newer one
needs the place: then the oldest result of the client with most of them gives way.
"""

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from seqloom.serve.limits import CLIENT, Limits
from seqloom.serve.refusal import OURS, Refusal, busy, slow_down

log = logging.getLogger("seqloom.serve")


def new_name() -> str:
    """A name that cannot be guessed: it opens the file."""
    return uuid.uuid4().hex


@dataclass(eq=False, slots=True)
class File:
    """One file from its upload until its result is deleted."""

    name: str  # of the result, for the client
    client: str
    id: str = field(default_factory=new_name)
    key: str = field(default_factory=new_name)
    begun: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    texts: int = 0  # to translate; 0 until the file has been read
    done: int = 0  # of these
    characters: int = 0
    task: asyncio.Task[None] | None = None
    result: bytes | None = None
    refusal: Refusal | None = None  # why there will be no result

    @property
    def running(self) -> bool:
        return self.result is None and self.refusal is None

    @property
    def seconds_left(self) -> int:
        """By the pace so far."""
        took = asyncio.get_running_loop().time() - self.begun
        return 1 + int(took * (self.texts - self.done) / self.done) if self.done else 1


Work = Callable[[File], Awaitable[bytes]]


class Files:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.kept: dict[str, File] = {}  # by id, the oldest first
        self.reading = asyncio.Lock()  # one file is taken apart or put together at a time: this takes memory

    def begin(self, name: str, work: Work) -> File:
        """Start the work on a file; refused if too many are being translated."""
        running = Counter(file.client for file in self.kept.values() if file.running)
        file = File(name, CLIENT.get())
        if running[file.client] >= self.limits.files_each:
            raise slow_down(2)
        if running.total() >= self.limits.files_running:
            raise busy(f"{self.limits.files_running} files are being translated; try again in a minute.")
        self.kept[file.id] = file
        self.make_room()
        file.task = asyncio.get_running_loop().create_task(self.run(file, work))
        return file

    async def run(self, file: File, work: Work) -> None:
        try:
            async with asyncio.timeout(self.limits.file_seconds):
                file.result = await work(file)
        except TimeoutError:
            file.refusal = Refusal(504, f"The file was not translated within {self.limits.file_seconds:g} seconds.")
        except Refusal as refusal:
            file.refusal = refusal
        except Exception:
            log.exception("translating a file failed")
            file.refusal = Refusal(500, OURS)
        finally:
            if file.running:  # cancelled: its client is gone, or the server stops
                self.drop(file)
        self.make_room()
        asyncio.get_running_loop().call_later(self.limits.file_kept, self.drop, file)

    async def wait(self, file: File, seconds: float | None = None) -> None:
        """Wait until the file is translated or refused, or for so many seconds."""
        assert file.task is not None
        await asyncio.wait([file.task], timeout=seconds)

    async def finish(self, file: File) -> None:
        """Wait for the file and raise its refusal; if this is cancelled, so is the file."""
        assert file.task is not None
        try:
            await asyncio.wait([file.task])
        except asyncio.CancelledError:
            file.task.cancel()
            raise
        if file.refusal is not None:
            self.drop(file)
            raise file.refusal

    def make_room(self) -> None:
        """Forget results until the others have room."""
        while finished := [file for file in self.kept.values() if not file.running]:
            size = sum(len(file.result or b"") for file in finished)
            if len(self.kept) <= self.limits.files and size <= self.limits.files_bytes:
                return
            [(greedy, _)] = Counter(file.client for file in finished).most_common(1)
            self.drop(next(file for file in finished if file.client == greedy))

    def drop(self, file: File) -> None:
        self.kept.pop(file.id, None)

    async def stop(self) -> None:
        """Give up the files that are being translated, because the server stops."""
        tasks = [file.task for file in self.kept.values() if file.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
