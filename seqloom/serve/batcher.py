"""Dynamic batching: texts of many requests that wait at the same time are searched together, by one thread per model.

A batch waits at most `linger` for more texts. Waiting requests take turns, one text each, so that a long request does
not delay the others. A request whose client has disconnected is removed at once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from seqloom.errors import SeqloomError
from seqloom.serve.finding import Find, Found, Wanted
from seqloom.serve.limits import Limits
from seqloom.serve.refusal import OURS, Refusal, busy
from seqloom.serve.worker import OneThread

log = logging.getLogger("seqloom.serve")
Measure = Callable[[int, float], None]  # texts of a batch, seconds


@dataclass(eq=False, slots=True)
class Ask:
    """A request's texts, the next one to be taken, and the answers so far."""

    texts: Sequence[str]
    wanted: Wanted
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
        """End the loop, without waiting for the batch that is being searched."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task], timeout=self.limits.drain)  # stopping must not hang if the task does
        self.worker.shutdown()

    def give_up(self) -> None:
        """Refuse all requests that still wait, because the server stops."""
        for ask in self.places:
            if not ask.done.done():
                ask.done.set_exception(busy("The server is shutting down."))

    async def ask(self, texts: Sequence[str], wanted: Wanted) -> list[Found]:
        """The answers in the order of the texts. If this is cancelled, texts that wait are not searched."""
        if not texts:
            return []
        if len(self.places) >= self.limits.queue:
            raise busy(f"The queue is full ({self.limits.queue} requests); try again in a second.")
        loop = asyncio.get_running_loop()
        ask = Ask(texts, wanted, loop.create_future(), loop.time(), missing=len(texts))
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
                try:
                    await loop.run_in_executor(self.worker, self.search, rows, loop)
                except Exception:  # the thread could not be started, or a measurement failed: the loop continues
                    log.exception("a batch failed")
                    self.deliver(rows, [Refusal(500, OURS) for _ in rows])

    async def gather_company(self, until: float) -> None:
        """Wait for more texts, unless there are enough for a batch."""
        while asyncio.get_running_loop().time() < until:
            if sum(len(ask.texts) - ask.taken for ask in self.waiting) >= self.limits.rows:
                return
            self.wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):  # wait_for of Python 3.11 may swallow the cancellation of a stop
                    await self.wake.wait()

    def take(self) -> list[Row]:
        """Texts for one search, shortest first: one of each request at a time, until the batch is full."""
        if not self.waiting:
            return []
        wanted, rows, longest = self.waiting[0].wanted, list[Row](), 0
        queue = [ask for ask in self.waiting if ask.wanted == wanted]
        while queue and len(rows) < max(1, self.limits.rows // wanted.times):
            ask = queue.pop(0)
            longest = max(longest, len(ask.texts[ask.taken]))
            if rows and longest * (len(rows) + 1) * wanted.times > self.limits.area:
                break
            rows.append((ask, ask.taken))
            ask.taken += 1
            if ask.taken < len(ask.texts):
                queue.append(ask)
        # Requests that gave a text go behind those that did not; those without texts left leave the queue.
        had = {ask for ask, _ in rows}
        rest = [ask for ask in self.waiting if ask not in had]
        self.waiting = rest + [ask for ask in self.waiting if ask in had and ask.taken < len(ask.texts)]
        return sorted(rows, key=lambda row: len(row[0].texts[row[1]]))

    def search(self, rows: list[Row], loop: asyncio.AbstractEventLoop) -> None:
        """Search a batch, in the thread of the model. Every row gets an answer, also after an error."""
        started = time.perf_counter()
        texts, wanted = [ask.texts[number] for ask, number in rows], rows[0][0].wanted
        try:
            found: list[Found | Exception] = [*self.find(texts, wanted)]
            if len(found) != len(texts):
                raise ValueError(f"{len(found)} answers to {len(texts)} texts")
        except BaseException:  # a panic of a Rust library is not an Exception
            found = [self.search_alone(text, wanted) for text in texts]  # one bad text must not make the others fail
        self.measure(len(rows), time.perf_counter() - started)
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(self.deliver, rows, found)

    def search_alone(self, text: str, wanted: Wanted) -> Found | Exception:
        try:
            return self.find([text], wanted)[0]
        except SeqloomError:
            return Refusal(400, "The model cannot translate this text with these settings.")
        except BaseException as error:
            log.exception("a search failed")
            return error if isinstance(error, Exception) else Refusal(500, OURS)

    def deliver(self, rows: list[Row], found: list[Found | Exception]) -> None:
        for (ask, number), answer in zip(rows, found, strict=True):
            if ask.done.done():
                continue  # its client is gone, or it has failed before
            if isinstance(answer, Exception):
                ask.done.set_exception(answer)
                continue
            ask.found[number] = answer
            ask.missing -= 1
            if not ask.missing:
                ask.done.set_result(None)
