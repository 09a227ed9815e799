"""One connection: what a client may send before it is cut off, how slowly, and how many may be open.

Clients that owe bytes are cut off by a look at all connections once per second, so that a request costs no timer. When
all places are taken, a new connection gets the place of the one that has been idle longest.
"""

import asyncio
import resource
from typing import Any

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from seqloom.serve.limits import Limits

MOST_HEADERS = 1 << 17  # bytes: 5,000 characters in a query string take up to 60,000
MOST_DRAINED = 8  # times the limit of a body: a client that still sends reads no answer, so the rest is read
# A body may come in so many pieces (chunks, or what one packet brings), and in one more per so many bytes.
FREE_PIECES, PIECE = 1_024, 256
BACKLOG = 128  # connections that are accepted at once, before any of them is counted
SPARE_FILES = 64 + BACKLOG  # that are not connections: logs, models, libraries
FAREWELL = 5.0  # seconds between the answer that a client was too slow and the end of the connection


class MeasuredConnection(h11.Connection):
    """HTTP as the library reads it, with limits for the size of a body and the number of its pieces."""

    def __init__(self, most: int) -> None:
        super().__init__(h11.SERVER, MOST_HEADERS)
        self.most = most
        self.pieces = self.size = 0
        self.fault = 400, "This is not a valid HTTP request."

    def next_event(self) -> Any:
        event = super().next_event()
        if type(event) is h11.Data:
            self.pieces += 1
            self.size += len(event.data)
            if self.size > self.most:
                self.refuse(413, "The body is too large.")
            if self.pieces > FREE_PIECES + self.size // PIECE:
                self.refuse(400, "The body comes in too many small pieces.")
        elif type(event) is h11.Request:
            self.pieces = self.size = 0
        return event

    def refuse(self, status: int, sentence: str) -> None:
        self.fault = status, sentence
        raise h11.RemoteProtocolError(sentence)


class Connection(H11Protocol):
    conn: MeasuredConnection

    def __init__(self, *, limits: Limits, idle: "dict[Connection, None]", **settings: Any) -> None:
        super().__init__(**settings)
        self.limits = limits
        self.idle = idle  # all connections without a request, the one that has waited longest first
        self.conn = MeasuredConnection(MOST_DRAINED * limits.body)
        self.since = self.loop.time()  # when its state changed last

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: a request that offers another protocol is answered in this one, and the log need not say so."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle[self] = None
        if len(self.connections) > self.limits.connections:
            longest = next(iter(self.idle))
            del self.idle[longest]
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.pop(self, None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self in self.idle and self.cycle is not None and not self.cycle.response_complete:
            del self.idle[self]
            self.since = self.loop.time()

    def on_response_complete(self) -> None:
        self.idle[self] = None
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self.since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.since = self.loop.time()
        super().resume_writing()

    def overdue(self, now: float) -> bool:
        """Whether the client has kept the server waiting for too long: for a header, a body, or to take an answer."""
        if self in self.idle or self.transport.is_closing():
            allowed = self.limits.header
        elif self.flow.write_paused:
            allowed = self.limits.deadline
        elif self.conn.their_state is h11.SEND_BODY:
            allowed = self.limits.upload + FAREWELL  # its request has been refused before
        else:
            return False  # the request is being answered, which has a deadline of its own
        return now - self.since > allowed

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; a request whose body turns out broken has ended, whatever its answer."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        status, sentence = self.conn.fault
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        body = h11.Data(data=msgspec.json.encode({"error": sentence}))
        events = h11.Response(status_code=status, headers=headers), body, h11.EndOfMessage()
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()


def most_connections(wanted: int) -> int:
    """So many connections, or as many as this process may open files; the limit of files is raised if it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted + SPARE_FILES and soft < hard:
        soft = min(wanted + SPARE_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(wanted, soft - min(SPARE_FILES, soft // 2)))
