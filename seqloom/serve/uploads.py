"""Bodies that are being received. Slow ones take no place from others: the oldest gives way to a new one."""

import asyncio
import logging
from collections import Counter

from starlette.requests import Request

from seqloom.serve.connection import MOST_DRAINED
from seqloom.serve.limits import CLIENT, Limits
from seqloom.serve.refusal import Refusal, busy

log = logging.getLogger("seqloom.serve")


class Uploads:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.open: dict[asyncio.Timeout, tuple[str, float]] = {}  # address and start of each, the oldest first
        self.stopping = False

    async def receive(self, request: Request) -> bytes:
        """The body of a request; refused if it is too large or too slow."""
        refuse_announced(request, self.limits.body)
        if len(self.open) >= self.limits.uploads:
            self.give_way()
        started = asyncio.get_running_loop().time()
        timer = asyncio.timeout(None)  # set by the methods below: one look per second costs a request no timer
        self.open[timer] = CLIENT.get(), started
        try:
            async with timer:
                return await read_body(request, self.limits.body)
        except TimeoutError:
            raise self.too_slow(asyncio.get_running_loop().time() - started) from None
        finally:
            self.open.pop(timer, None)

    def end(self, timer: asyncio.Timeout) -> None:
        del self.open[timer]
        timer.reschedule(asyncio.get_running_loop().time())

    def give_way(self) -> None:
        """End the oldest upload of the client that has most of them."""
        [(greedy, _)] = Counter(client for client, _ in self.open.values()).most_common(1)
        self.end(next(timer for timer, (client, _) in self.open.items() if client == greedy))

    def end_slow(self, now: float) -> None:
        """End those that have taken too long."""
        for timer, (_, started) in [*self.open.items()]:
            if now - started < self.limits.upload:
                break
            self.end(timer)

    def stop(self) -> None:
        """Refuse what is still being sent, because the server stops."""
        self.stopping = True
        if self.open:
            log.warning("stopping: %d requests were still being sent and are refused with 503", len(self.open))
        for timer in [*self.open]:
            self.end(timer)

    def too_slow(self, seconds: float) -> Refusal:
        if self.stopping:
            return busy("The server is shutting down.")
        if seconds < self.limits.upload:
            return busy("Too many requests are being sent at the same time; try again in a second.")
        return Refusal(408, f"The body did not arrive within {self.limits.upload:g} seconds.")


def refuse_announced(request: Request, most: int) -> None:
    """Refuse a body so large that the connection would be closed before its end."""
    announced = request.headers.get("content-length", "0")  # a number: the library has read it
    if int(announced) > MOST_DRAINED * most:
        raise too_large(most)


def too_large(most: int) -> Refusal:
    return Refusal(413, f"The body is larger than {most:,} bytes.")


async def read_body(request: Request, most: int) -> bytes:
    """The body, read to its end even if it is too large: a client that still sends reads no answer.

    The connection is closed when far more has come (connection.py).
    """
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            chunks.append(chunk)
    if size > most:
        raise too_large(most)
    return b"".join(chunks)
