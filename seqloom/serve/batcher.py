"""Dynamic batching: texts of many requests that wait at the same time are searched together, by one thread a model.

A batch waits at most `linger` for company. Every request that waits puts in one text after the other in turn, so that
a long one holds up nobody; a request whose client has gone is taken out at once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from seqloom.errors import SeqloomError
from seqloom.serve.limits import Limits
from seqloom.serve.refusal import Refusal, busy
from seqloom.serve.search import Find, Found, How
from seqloom.serve.thread import OneThread

log = logging.getLogger("seqloom.serve")
Measure = Callable[[int, float], None]  # texts of a batch, seconds


@dataclass(eq=False, slots=True)
class Ask:
    """A request's texts, the next one to be taken, and the answers so far."""

    texts: Sequence[str]
    how: How
    done: asyncio.Future[None]
    arrived: float
    taken: int = 0
    missing: int = 0
    found: dict[int, Found] = field(default_factory=dict)


Row = tuple[Ask, int]  # the text with this number


class Batcher:
    """The queue and the thread of one model."""

    def __init__(self, find: Find, limits: Limits, measure: Measure = lambda texts, seconds: None) -> None:
        self.find = find
        self.limits = limits
        self.measure = measure
        self.places: set[Ask] = set()  # requests that wait or are being answered
        self.waiting: list[Ask] = []  # those of them that have texts left to search
        self.wake = asyncio.Event()
        self.worker = OneThread("seqloom-model")
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.run())

    async def stop(self) -> None:
        """End the loop. Nobody waits any more for the batch that is being searched."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task], timeout=self.limits.drain)  # a stop must end, whatever became of the task
        self.worker.shutdown()

    def give_up(self) -> None:
        """Refuse all who still wait: the time to stop has come."""
        for ask in self.places:
            if not ask.done.done():
                ask.done.set_exception(busy("The server is shutting down."))

    async def ask(self, texts: Sequence[str], how: How) -> list[Found]:
        """The answers in the order of the texts. Cancel it, and what has not begun never will."""
        if not texts:
            return []
        if len(self.places) >= self.limits.queue:
            raise busy(f"All {self.limits.queue} places of the queue are taken; try again in a second.")
        loop = asyncio.get_running_loop()
        ask = Ask(texts, how, loop.create_future(), loop.time(), missing=len(texts))
        self.places.add(ask)
        self.waiting.append(ask)
        self.wake.set()
        try:
            await ask.done
        finally:
            self.places.discard(ask)
            if ask in self.waiting:
                self.waiting.remove(ask)
        return [ask.found[number] for number in range(len(texts))]

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self.wake.clear()
            if not self.waiting:
                await self.wake.wait()
                continue
            await self.gather_company(self.waiting[0].arrived + self.limits.linger)
            if rows := self.take():
                await loop.run_in_executor(self.worker, self.search, rows, loop)

    async def gather_company(self, until: float) -> None:
        """Wait for more texts, but not when there are enough for a batch."""
        while asyncio.get_running_loop().time() < until:
            if sum(len(ask.texts) - ask.taken for ask in self.waiting) >= self.limits.rows:
                return
            self.wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):  # wait_for of Python 3.11 may swallow the cancellation of a stop
                    await self.wake.wait()

    def take(self) -> list[Row]:
        """Texts for one search, shortest first: one of each request in turn, until the batch is full."""
        if not self.waiting:
            return []
        how, rows, longest = self.waiting[0].how, list[Row](), 0
        queue = [ask for ask in self.waiting if ask.how == how]
        while queue and len(rows) < max(1, self.limits.rows // how.times):
            ask = queue.pop(0)
            longest = max(longest, len(ask.texts[ask.taken]))
            if rows and longest * (len(rows) + 1) * how.times > self.limits.area:
                break
            rows.append((ask, ask.taken))
            ask.taken += 1
            if ask.taken < len(ask.texts):
                queue.append(ask)
        # Who has had a turn goes behind those who have not; who has no text left waits no longer.
        had = {ask for ask, _ in rows}
        rest = [ask for ask in self.waiting if ask not in had]
        self.waiting = rest + [ask for ask in self.waiting if ask in had and ask.taken < len(ask.texts)]
        return sorted(rows, key=lambda row: len(row[0].texts[row[1]]))

    def search(self, rows: list[Row], loop: asyncio.AbstractEventLoop) -> None:
        """In the thread of the model. Whatever happens, every row has its answer."""
        started = time.perf_counter()
        texts, how = [ask.texts[number] for ask, number in rows], rows[0][0].how
        try:
            found: list[Found | Exception] = [*self.find(texts, how)]
        except Exception:
            found = [self.search_alone(text, how) for text in texts]  # one bad text does not spoil its neighbours
        self.measure(len(rows), time.perf_counter() - started)
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(self.deliver, rows, found)

    def search_alone(self, text: str, how: How) -> Found | Exception:
        try:
            return self.find([text], how)[0]
        except SeqloomError:
            return Refusal(400, "The model cannot translate this text with these settings.")
        except Exception as error:
            log.exception("a search failed")
            return error

    def deliver(self, rows: list[Row], found: list[Found | Exception]) -> None:
        for (ask, number), answer in zip(rows, found, strict=True):
            if ask.done.done():
                continue  # gone, or failed before
            if isinstance(answer, Exception):
                ask.done.set_exception(answer)
                continue
            ask.found[number] = answer
            ask.missing -= 1
            if not ask.missing:
                ask.done.set_result(None)
