"""The page: a few files of the package, read once; there is no path from a request to the disk."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
Page = Callable[[Request], Awaitable[Response]]


def make_page(content: bytes, kind: str) -> Page:
    async def page(request: Request) -> Response:
        return Response(content, media_type=kind)

    return page


def read_pages() -> dict[str, Page]:
    """The address of each file of studio/: the page itself is /, the others /studio/NAME."""
    pages = {}
    for file in files("seqloom.serve").joinpath("studio").iterdir():
        kind = KINDS.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/studio/{file.name}"
            pages[path] = make_page(file.read_bytes(), kind)
    return pages


PAGES = read_pages()
