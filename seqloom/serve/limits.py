"""Limits of connections, requests, queues and waiting times, all on by default; and the client they are counted by.

Requests of one client address share what the server can do.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may ask for, how much is kept at once, and how long the server waits (in seconds)."""

    body: int = 1 << 20  # bytes
    characters: int = 5_000  # of a text, counted before anything is tokenised
    texts: int = 64  # of a request
    connections: int = 4_096  # fewer if the process may open fewer files
    header: float = 10.0  # until the header of a request is complete; the rest of an answer is taken
    upload: float = 10.0  # until the body of a request is complete
    uploads: int = 256  # bodies that are being received; one more makes the oldest give way
    queue: int = 64  # requests that wait for a model, or are being answered by it
    requests: int = 256  # whose body has been received: each holds it in memory
    deadline: float = 30.0  # until 504
    drain: float = 10.0  # that accepted requests have when the server stops
    linger: float = 0.005  # that a batch waits for more texts
    rows: int = 64  # texts per batch with a plain search; fewer if they need more work
    # Texts x the longest, in characters: known before anything is tokenised, and a token is one to four of them.
    area: int = 16_384
    work: int = 262_144  # that one client may have waiting, in characters x searches: 16 full batches, or one request
    stuck: float = 60.0  # that a search may take; then the model is loaded again
    file_texts: int = 20_000  # of one file
    file_seconds: float = 300.0  # that translating a file may take
    file_kept: float = 600.0  # seconds until a translated file is deleted
    files: int = 64  # that are being translated or kept
    files_bytes: int = 64 << 20  # of all that are kept
    files_running: int = 8  # that are being translated
    files_each: int = 2  # of these, of one client


# The address of this server, as the client of the request reached it: a function, because few answers need it.
ADDRESS: ContextVar[Callable[[], str]] = ContextVar("address", default=str)
CLIENT: ContextVar[str] = ContextVar("client", default="")  # of the request that the running task answers


def address_of_client(request: Request, behind_proxy: bool) -> str:
    """The address of the other end; behind a proxy on this machine, the one that the proxy saw."""
    address = request.client.host if request.client else ""
    if behind_proxy and address in ("127.0.0.1", "::1"):
        return request.headers.get("x-forwarded-for", address).rpartition(",")[2].strip()
    return address


def address_of_server(request: Request, behind_proxy: bool) -> str:
    """https://translate.example.org, as the client wrote it; empty if it did not say."""
    scheme = request.headers.get("x-forwarded-proto", "") if behind_proxy else ""
    host = request.headers.get("host", "")
    return f"{scheme if scheme in ('http', 'https') else request.url.scheme}://{host}" if host else ""
