"""From the first listening socket to the last answer: uvicorn with our signals, and a stop that answers all.

On SIGTERM or Ctrl-C nobody new is let in, accepted requests have `drain` seconds for their answers, the exit code is 0.
"""

import asyncio
import ipaddress
import math
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from seqloom.errors import UsageError
from seqloom.serve.app import build_app
from seqloom.serve.service import Service

MOST_HEADERS = 1 << 17  # bytes: 5,000 characters in a query string take up to 60,000


class Server(uvicorn.Server):
    def __init__(self, service: Service, on_start: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            build_app(service),
            http="h11",  # it bounds the size of headers
            ws="none",
            h11_max_incomplete_event_size=MOST_HEADERS,
            timeout_graceful_shutdown=math.ceil(service.limits.drain) + 2,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        super().__init__(config)
        self.service = service
        self.on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self.on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The second Ctrl-C waits for nobody."""
        self.service.accepting = False
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        if self.force_exit:
            self.loop.call_soon_threadsafe(self.cut_off)

    def cut_off(self) -> None:
        """Hang up on everybody: from Python 3.12 on the end waits for connections that are open."""
        for connection in [*self.server_state.connections]:
            if connection.transport is not None:
                connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.accepting = False
        asyncio.get_running_loop().call_later(self.service.limits.drain, self.service.give_up)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, or a sentence that says why not."""
    if not 0 <= port <= 65535:
        raise UsageError(f"--port {port}: want 0 (any free one) to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError:
        raise UsageError(f"--host {host}: no such address; 127.0.0.1 is this machine") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise UsageError(f"cannot listen on {host} port {port}: {error.strerror}. Try another --port") from None
    return bound


def check_open_to_others(host: str, key: str | None, insecure: bool) -> None:
    """Only this machine may use a server without a key, unless somebody says that all may."""
    if key == "":
        raise UsageError("--api-key is empty: give a key that is hard to guess")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False  # the name of a machine
    if not loopback and key is None and not insecure:
        raise UsageError(
            f"--host {host}: others could use this server without a key. Add --api-key KEY, or --insecure if all may."
        )


def address_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
