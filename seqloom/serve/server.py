"""Runs the server: listens, starts uvicorn with our signal handling, and stops after answering accepted requests.

On SIGTERM or Ctrl-C no new request is accepted, those accepted have `drain` seconds for their
answers, and the exit code is 0.
"""

import asyncio
import ipaddress
import json
import math
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from shlex import quote
from types import FrameType

import uvicorn

from seqloom.errors import UsageError
from seqloom.serve.app import build_app
from seqloom.serve.connection import BACKLOG, Connection, most_connections
from seqloom.serve.quiet_log import keep_logs_short
from seqloom.serve.service import Service


class Server(uvicorn.Server):
    def __init__(self, service: Service, on_start: Callable[[], None] = lambda: None) -> None:
        limits = replace(service.limits, connections=most_connections(service.limits.connections))
        config = uvicorn.Config(
            build_app(service),
            http=partial(Connection, limits=limits, idle={}),  # type: ignore[arg-type]
            ws="none",
            backlog=BACKLOG,
            timeout_graceful_shutdown=math.ceil(service.limits.drain) + 2,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        super().__init__(config)
        keep_logs_short()
        self.service = service
        self.on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self.on_start()

    async def on_tick(self, counter: int) -> bool:
        """Ten times per second, as long as the server runs: cut off clients that are too slow."""
        if counter % 10 == 0:
            now = self.loop.time()
            self.service.uploads.end_slow(now)
            for connection in [*self.server_state.connections]:
                if isinstance(connection, Connection) and connection.overdue(now):
                    connection.transport.abort()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal stops the server; the second Ctrl-C does not wait for answers."""
        self.service.accepting = False
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        if self.force_exit:
            self.loop.call_soon_threadsafe(self.cut_off)

    def cut_off(self) -> None:
        """Close all connections: from Python 3.12 on the end waits for connections that are open."""
        for connection in [*self.server_state.connections]:
            if connection.transport is not None:
                connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.accepting = False
        self.service.uploads.stop()
        asyncio.get_running_loop().call_later(self.service.limits.drain, self.service.give_up)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; UsageError with the reason if the address cannot be used."""
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
    """Refuse a server without a key that other machines can reach, unless --insecure is given."""
    if key == "":
        raise UsageError("--api-key is empty: give a key that is hard to guess")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False  # a name, not an address
    if not loopback and key is None and not insecure:
        raise UsageError(
            f"--host {host}: others could use this server without a key. Add --api-key KEY, or --insecure to allow it."
        )


def address_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def greeting(service: Service, address: str) -> str:
    """The first lines of output: the address, and settings to paste into the clients that people have."""
    names = service.name_of
    models = [
        f"  {names(m.source)} -> {names(m.target)} ({m.name})" + "".join(f", beside it {name}" for name in m.beside)
        for m in service.models.values()
    ] + [f"  {one.name} ({one.task})" for one in service.named.values()]
    rows = (for_translators(service, address) if service.models else {}) | for_named(service, address)
    settings = [f"  {name:<17} {line}" for name, line in rows.items()]
    return "\n".join(
        [
            f"Seqloom serves {len(models)} model{'s' * (len(models) > 1)} at {address} (the page is there too)",
            *models,
            "Settings for clients:",
            *settings,
            "Ctrl-C stops; requests that were accepted are answered first.",
        ]
    )


def for_translators(service: Service, address: str) -> dict[str, str]:
    source, target = next(iter(service.models))  # words from a model's folder: quoted in whatever is pasted
    form = f"-d {quote(f'source={source}')} -d {quote(f'target={target}')}"
    both, model = f"{json.dumps(source)}, {json.dumps(target)}", json.dumps(f"{source}-{target}")
    key = service.key is not None
    python_key = ', api_key="YOUR KEY"' if key else ""
    curl_key = ' -d api_key="YOUR KEY"' if key else ""
    any_key = "YOUR KEY" if key else "any"
    return {
        "curl": f"curl {address}/translate -d q=Hello {form}{curl_key}",
        "libretranslatepy": f'LibreTranslateAPI("{address}"{python_key}).translate("Hello", {both})',
        "deep-translator": f'LibreTranslator({both}, api_key="{any_key}", custom_url="{address}/")',
        "Mastodon": f"LIBRE_TRANSLATE_ENDPOINT={address} LIBRE_TRANSLATE_API_KEY={any_key.replace(' ', '_')}",
        "Weblate": f'LibreTranslate, configuration {{"url": "{address}", "key": "{any_key if key else ""}"}}',
        "deepl": f'DeepLClient("{any_key}", server_url="{address}")',
        "openai": f'OpenAI(base_url="{address}/v1", api_key="{any_key}"), model={model}',
    }


def for_named(service: Service, address: str) -> dict[str, str]:
    """One line for each named model: how to ask it with curl."""
    key = ' -d api_key="YOUR KEY"' if service.key is not None else ""
    return {
        one.name: f"curl {address}/v1/completions -d model={one.name} -d prompt=Hello{key}"
        if one.writes
        else f"curl {address}/models/{one.name} -d inputs=Hello{key}"
        for one in service.named.values()
    }
