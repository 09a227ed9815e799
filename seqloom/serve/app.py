"""The whole server as one ASGI application: the endpoints of every protocol, the web page and the common headers."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seqloom.serve import (
    deepl,
    deepl_documents,
    deepl_glossaries,
    hugging_face,
    libre,
    libre_files,
    look_inside,
    openai,
    openai_completions,
    openai_responses,
    own,
)
from seqloom.serve.allowed_hosts import AllowedHosts
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.metrics import Measured
from seqloom.serve.openapi import openapi
from seqloom.serve.refusal import Refusal, on_fault, on_http_exception, on_refusal
from seqloom.serve.service import Service

PROTOCOLS = (
    libre,
    libre_files,
    own,
    look_inside,
    deepl,
    deepl_documents,
    deepl_glossaries,
    hugging_face,
    openai,
    openai_completions,
    openai_responses,
)
ENDPOINTS = [endpoint for protocol in PROTOCOLS for endpoint in protocol.ENDPOINTS]
HEADERS = {
    # Pictures from data: are made by the page itself, for its PNG downloads.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
SAFE = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
NAMES = {name for name, _ in SAFE}

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FOLDERS = {  # package/folder -> the address of its files
    "seqloom.serve/studio": "/studio",
    "seqloom.explain/page": "/explain/page",
    "seqloom.explain/page/views": "/explain/page/views",
    "seqloom.explain/live": "/explain/live",
}
PLACES = {"/studio/index.html": "/", "/studio/inside.html": "/inside"}  # pages with an address of their own
Page = Callable[[Request], Awaitable[Response]]


class SafeHeaders:
    """Add headers to every answer: a browser must not load other sites, guess content types or cache answers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [header for header in message.get("headers", ()) if header[0] not in NAMES]
                message["headers"] = [*others, *SAFE]
            await send(message)

        await self.app(scope, receive, with_headers)


def make_page(content: bytes, kind: str) -> Page:
    async def page(request: Request) -> Response:
        return Response(content, media_type=kind)

    return page


def read_pages() -> dict[str, Page]:
    """The files of the pages by address: / and /inside, what they load under /studio/ and /explain/.

    They are read once: there is no path from a request to the disk.
    """
    pages = {}
    for folder, address in FOLDERS.items():
        package, *inner = folder.split("/")
        for file in files(package).joinpath(*inner).iterdir():
            kind = KINDS.get("." + file.name.rpartition(".")[2])
            if kind is not None:
                path = PLACES.get(f"{address}/{file.name}", f"{address}/{file.name}")
                pages[path] = make_page(file.read_bytes(), kind)
    return pages


PAGES = read_pages()


class Addresses(Router):
    """Finds most routes by their address; the library tries one after the other, which takes as long as small answers.

    Left to the library are addresses with a parameter, and those with several methods.
    """

    def __init__(self, routes: Sequence[Route], **settings: Any) -> None:
        super().__init__(routes, redirect_slashes=False, **settings)  # a redirect loses the body of a POST
        count = Counter(route.path for route in routes)
        self.known = {route.path: route for route in routes if count[route.path] == 1 and "{" not in route.path}

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.known.get(scope["path"]) if scope["type"] == "http" else None
        if route is None:
            await super().app(scope, receive, send)
        else:
            scope.update(route.matches(scope)[1])
            await route.handle(scope, receive, send)


def build_app(service: Service) -> Starlette:
    document = msgspec.json.encode(openapi(service, ENDPOINTS))

    async def openapi_json(request: Request) -> Response:
        return Response(document, media_type="application/json")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    routes = [
        *(Route(end.path, respond_with(end, service), methods=[end.method]) for end in ENDPOINTS),
        Route("/openapi.json", openapi_json),
        *(Route(path, page) for path, page in PAGES.items()),
    ]
    paths = frozenset(route.path for route in routes)
    app = Starlette(
        middleware=[
            Middleware(partial(Measured, metrics=service.metrics, paths=paths)),
            Middleware(SafeHeaders),
            Middleware(AllowedHosts, service.allowed),
            *cross_site(service.allowed.origins),
        ],
        exception_handlers={Refusal: on_refusal, HTTPException: on_http_exception, Exception: on_fault},
    )
    app.router = Addresses(routes, lifespan=lifespan)
    return app


def cross_site(origins: Collection[str]) -> list[Middleware]:
    """What browsers ask for before pages of other sites may read answers; nothing if there are no such pages."""
    if not origins:
        return []
    methods = ["GET", "POST"]
    return [Middleware(CORSMiddleware, allow_origins=[*origins], allow_methods=methods, allow_headers=["*"])]


def respond_with(endpoint: Endpoint, service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        return await endpoint.respond(service, request)

    return respond
