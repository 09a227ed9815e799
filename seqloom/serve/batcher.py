"""Dynamic batching: texts of many requests that wait at the same time are searched together, by one thread per model.

A batch waits at most `linger` for more texts. The queue decides whose texts come next. A request whose client has
disconnected is removed at once. A search that takes too long is abandoned, and the model is loaded again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from seqloom.errors import SeqloomError
from seqloom.serve.fair_queue import Ask, FairQueue, Row
from seqloom.serve.finding import Find, Found, Wanted
from seqloom.serve.limits import CLIENT, Limits
from seqloom.serve.refusal import OURS, Refusal, busy
from seqloom.serve.worker import OneThread

log = logging.getLogger("seqloom.serve")
Measure = Callable[[int, float], None]  # texts of a batch, seconds
MOST_STUCK = 3  # threads left behind that still work; beyond that the model waits for one of them to end
RESTARTS = "The model did not answer in time and is loaded again; try again in a few seconds."


class Batcher:
    """The queue and the thread of one model."""

    def __init__(
        self,
        find: Find,
        limits: Limits,
        measure: Measure = lambda texts, seconds: None,
        reload: Callable[[], Find] | None = None,
    ) -> None:
        self.find = find
        self.reload = reload  # the same search with the model loaded again
        self.limits = limits
        self.measure = measure
        self.queue = FairQueue(limits)
        self.wake = asyncio.Event()
        self.worker = OneThread("seqloom-model")
        self.left: list[OneThread] = []  # threads whose search did not end in time
        self.restarting = False
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.run())

    async def stop(self) -> None:
        """End the loop, without waiting for the batch that is being searched."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task], timeout=self.limits.drain)  # stopping must not hang if the task does
        self.worker.shutdown()

    @property
    def busy(self) -> bool:
        return any(worker.busy for worker in (self.worker, *self.left))

    @property
    def stuck(self) -> bool:
        """Whether too many searches were left behind, so that only a new process helps."""
        return self.restarting and sum(worker.busy for worker in self.left) > MOST_STUCK

    @property
    def ready(self) -> bool:
        return self.task is not None and not self.task.done() and not self.restarting

    def give_up(self) -> None:
        """Refuse all requests that still wait, because the server stops."""
        self.queue.refuse_all(busy("The server is shutting down."))

    async def ask(self, texts: Sequence[str], wanted: Wanted) -> list[Found]:
        """The answers in the order of the texts. If this is cancelled, texts that wait are not searched."""
        if not texts:
            return []
        if self.restarting:
            raise busy(RESTARTS)
        loop = asyncio.get_running_loop()
        ask = Ask(texts, wanted, loop.create_future(), loop.time(), CLIENT.get(), missing=len(texts))
        self.queue.enter(ask)
        self.wake.set()
        try:
            await ask.done
        finally:
            self.queue.leave(ask)
        return [ask.found[number] for number in range(len(texts))]

    async def run(self) -> None:
        """One batch after the other, whatever happens: a fault costs those who wait their answers, not the server."""
        while True:
            try:
                await self.search_next()
            except Exception:
                log.exception("the queue of a model failed")
                self.queue.refuse_all(Refusal(500, OURS))

    async def search_next(self) -> None:
        self.wake.clear()
        if not self.queue.waiting:
            await self.wake.wait()
            return
        await self.gather_company(min(ask.arrived for ask in self.queue.waiting) + self.limits.linger)
        loop = asyncio.get_running_loop()
        if rows := self.queue.take():
            try:
                async with asyncio.timeout(self.limits.stuck):
                    await loop.run_in_executor(self.worker, self.search, rows, loop, self.worker)
            except TimeoutError:
                await self.restart()
            except Exception:  # the thread could not be started, or a measurement failed: the loop continues
                log.exception("a batch failed")
                self.deliver(rows, [Refusal(500, OURS) for _ in rows])

    async def restart(self) -> None:
        """Leave the stuck thread behind, refuse what waits, and continue with a new thread and the model loaded."""
        self.restarting = True
        log.error("a search has taken more than %g seconds: the model is loaded again", self.limits.stuck)
        self.queue.refuse_all(busy(RESTARTS))
        while True:
            self.worker.abandon()
            self.left = [worker for worker in (*self.left, self.worker) if worker.busy]
            while self.stuck:
                await asyncio.sleep(1)
            self.worker = OneThread("seqloom-model")
            try:
                if self.reload is not None:
                    async with asyncio.timeout(self.limits.stuck):
                        self.find = await asyncio.get_running_loop().run_in_executor(self.worker, self.reload)
                break
            except TimeoutError:
                log.error("loading the model again has taken too long")
            except Exception:  # its folder is gone, for example: the model in memory may still work
                log.exception("the model could not be loaded again")
                break
        self.restarting = False

    async def gather_company(self, until: float) -> None:
        """Wait for more texts, unless there are enough for a batch."""
        while asyncio.get_running_loop().time() < until:
            if sum(len(ask.texts) - ask.taken for ask in self.queue.waiting) >= self.limits.rows:
                return
            self.wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):  # wait_for of Python 3.11 may swallow the cancellation of a stop
                    await self.wake.wait()

    def search(self, rows: list[Row], loop: asyncio.AbstractEventLoop, worker: OneThread) -> None:
        """Search a batch, in the thread of the model. Every row gets an answer, also after an error."""
        started = time.perf_counter()
        texts, wanted = [ask.texts[number] for ask, number in rows], rows[0][0].wanted
        try:
            found: list[Found | Exception] = [*self.find(texts, wanted)]
            if len(found) != len(texts):
                raise ValueError(f"{len(found)} answers to {len(texts)} texts")
        except BaseException:  # a panic of a Rust library is not an Exception
            # One bad text must not make the others fail.
            found = [self.search_alone(text, wanted) for text in texts if not worker.abandoned]
        if worker.abandoned:
            return  # those who waited have been refused
        took = time.perf_counter() - started
        self.queue.measured(rows, took)
        self.measure(len(rows), took)
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
