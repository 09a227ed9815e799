"""An endpoint: the types of request and answer; key, deadline and disconnected clients are the same for all."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from seqloom.serve.body import check_encoding, parse_form, read_fields, read_request, takes_a_file
from seqloom.serve.limits import ADDRESS, CLIENT, address_of_client, address_of_server
from seqloom.serve.messages import Error, Said
from seqloom.serve.refusal import OURS, Refusal, busy
from seqloom.serve.service import Service

log = logging.getLogger("seqloom.serve")
SCHEMES = ("bearer", "deepl-auth-key")  # the word before a key in a header
CLIENT_GONE = 499  # no client reads it, but the metrics count it
Handle = Callable[[Service, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    summary: str
    handle: Handle  # returns something to encode as JSON, or a Response
    answer: Any  # its type
    takes: type[Said] | None = None  # None = it reads no request, and needs no key
    no_key: int = 403  # the status for a wrong key
    streams: bool = False  # may also answer with server-sent events
    statuses: tuple[int, ...] = ()  # further statuses of its answers
    error: Any = Error  # the type of a refusal
    success: int = 200  # the status of an answer
    keyless: bool = False  # a part of its address is a secret, and no key is needed
    patient: bool = False  # it has as much time as a file

    async def respond(self, service: Service, request: Request) -> Response:
        if not service.accepting:
            raise busy("The server is shutting down.")
        if self.takes is not None:
            behind_proxy = bool(service.allowed.names)
            CLIENT.set(address_of_client(request, behind_proxy))
            ADDRESS.set(partial(address_of_server, request, behind_proxy))
        deadline = service.limits.file_seconds + 1 if self.patient else service.limits.deadline
        try:
            async with asyncio.timeout(deadline):
                answer = await self.work(service, request)
        except TimeoutError:
            raise Refusal(504, f"There was no answer within {deadline:g} seconds.") from None
        except ClientDisconnect:
            return Response(status_code=CLIENT_GONE)
        except (Refusal, HTTPException):
            raise
        except Exception:
            log.exception("%s failed", self.path)
            raise Refusal(500, OURS) from None
        if isinstance(answer, Response):
            return answer
        return Response(msgspec.json.encode(answer), media_type="application/json")

    async def work(self, service: Service, request: Request) -> Any:
        if self.takes is None:
            return await self.handle(service, None)
        query = parse_form(request.scope["query_string"])
        check_encoding(request)
        early = said_key(query, request.headers.get("authorization", "")) if service.key is not None else ""
        if early:  # a wrong key is refused before the body is read
            self.check_key(service, early)
        body = await service.uploads.receive(request)
        if service.inside >= service.limits.requests:
            raise busy("Too many requests are being answered; try again in a second.")
        service.inside += 1
        try:
            fields = await read_fields(request, query, body, takes_a_file(self.takes))
            fields.values.update(request.path_params)
            if service.key is not None:
                self.check_key(service, early or said_key(fields.values))
            said = read_request(fields, self.takes)
            return await while_connected(request, self.handle(service, said))
        finally:
            service.inside -= 1

    def check_key(self, service: Service, given: str) -> None:
        """Refuse a wrong key; the comparison takes constant time."""
        if service.key is None or self.keyless:
            return
        if not hmac.compare_digest(given.encode(errors="replace"), service.key.encode()):
            raise Refusal(self.no_key, "The api_key is missing or wrong.")


def said_key(fields: Mapping[str, Any], header: str = "") -> str:
    """The key in a header or a field; empty if there is none."""
    scheme, _, key = header.partition(" ")
    keys = [key.strip() if scheme.lower() in SCHEMES else "", *map(fields.get, Said.__struct_fields__)]
    return next((key for key in keys if isinstance(key, str) and key), "")


async def while_connected(request: Request, work: Awaitable[Any]) -> Any:
    """The result of the work, which is cancelled as soon as the client disconnects."""
    working, over, gone = asyncio.current_task(), False, False
    assert working is not None

    def end(_: asyncio.Future[Any]) -> None:
        nonlocal gone
        if not over:
            gone = True
            working.cancel()

    going = asyncio.ensure_future(request.receive())  # the body has been read, so the next message is the end
    going.add_done_callback(end)
    try:
        return await work
    except asyncio.CancelledError:
        if gone and not working.uncancel():
            raise ClientDisconnect from None
        raise
    finally:
        over = True
        going.cancel()
