"""Which names the server answers to, and which web pages may ask it.

A page of a stranger can send requests to this machine, and a name of a stranger can point to it (DNS rebinding). So on
a loopback address only the names of this machine are answered, and a page of another site (header Origin) is refused.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from seqloom.errors import UsageError
from seqloom.serve.refusal import answer_refusal

LOCAL = "localhost"
ALLOWED = re.compile(r"(?P<origin>(?P<scheme>https?://)?(?P<name>[a-z0-9_.-]+|\[[0-9a-f:]+\])(:[0-9]+)?)/?")
WRONG_HOST = "This server does not answer to that host name: use its address, or start it with --allow NAME."
WRONG_ORIGIN = "Pages of other sites may not use this server; start it with --allow https://THEIR.SITE to let them."


@dataclass(frozen=True, slots=True)
class Allowed:
    """Names and origins besides those of this machine."""

    names: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    any_name: bool = False  # on an address that other machines reach, and without names

    def host(self, header: str) -> bool:
        name = name_of_host(header)
        return self.any_name or name in self.names or is_this_machine(name)

    def origin(self, header: str, host: str) -> bool:
        """Whether a page may ask: one of this server, or of a site that is allowed."""
        return header in self.origins or (
            header.startswith(("http://", "https://")) and header.partition("//")[2] == host
        )


def read_allowed(words: Sequence[str], host: str) -> Allowed:
    """What --allow says: host names such as translate.example.org, and origins such as https://example.org."""
    names, origins = set(), set()
    for word in words:
        match = ALLOWED.fullmatch(word.lower())
        if match is None:
            raise UsageError(
                f"--allow {word!r}: want a host name such as translate.example.org, or the origin of a web page, such "
                "as https://example.org"
            )
        if match["scheme"]:
            origins.add(match["origin"])
        else:
            names.add(match["name"])
    return Allowed(frozenset(names), frozenset(origins), any_name=not names and not is_this_machine(host.lower()))


def name_of_host(header: str) -> str:
    """The name without the port: [::1]:5000 is ::1."""
    name = header.lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def is_this_machine(name: str) -> bool:
    try:
        return name == LOCAL or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class AllowedHosts:
    """Refuses requests by their headers Host and Origin, before anything else is read."""

    def __init__(self, app: ASGIApp, allowed: Allowed) -> None:
        self.app = app
        # Headers of clients repeat, and reading an address takes as long as reading a small request.
        self.host = lru_cache(maxsize=64)(allowed.host)
        self.origin = allowed.origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (sentence := self.why_not(scope["headers"])):
            await answer_refusal(403, sentence, None, scope["path"])(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def why_not(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        said = {name: value.decode("latin-1") for name, value in headers if name in (b"host", b"origin")}
        host = said.get(b"host")
        if host is not None and not self.host(host):  # only HTTP/1.0 has none, which no browser speaks
            return WRONG_HOST
        if b"origin" in said and not self.origin(said[b"origin"].lower(), (host or "").lower()):
            return WRONG_ORIGIN
        return None
