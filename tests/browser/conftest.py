"""A page in a real Chromium, before a running server with two tiny models."""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# The server fixtures live beside its own tests; there are no packages among the tests.
SERVE = Path(__file__).parents[1] / "serve" / "conftest.py"
spec = importlib.util.spec_from_file_location("serve_fixtures", SERVE)
assert spec is not None and spec.loader is not None
fixtures = importlib.util.module_from_spec(spec)
sys.modules["serve_fixtures"] = fixtures  # dataclasses look their module up
spec.loader.exec_module(fixtures)

make_folder, folders, pairs, three = fixtures.make_folder, fixtures.folders, fixtures.pairs, fixtures.three
server, locked, serve, gated = fixtures.server, fixtures.locked, fixtures.serve, fixtures.gated
eventually = fixtures.eventually

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed after its file: until then playwright runs a loop in this thread, and no other test can run its own."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no chromium here")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[[Any], Any]]:
    """visit(server): its page, in a window that is closed after the test.

    The page has what its console said, what that complained of, and the addresses that were asked for.
    """
    contexts = []

    def hear(opened: Any, message: Any) -> None:
        opened.said.append(message.text)
        if message.type in ("error", "warning"):
            opened.complaints.append(message.text)

    def open_page(server: Any) -> Any:
        context = browser.new_context(
            viewport={"width": 1200, "height": 800}, permissions=["clipboard-read", "clipboard-write"]
        )
        contexts.append(context)
        opened = context.new_page()
        opened.said, opened.complaints, opened.requests = [], [], []
        opened.on("console", lambda message: hear(opened, message))
        opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.on("request", lambda request: opened.requests.append(request.url))
        opened.set_default_timeout(60_000)
        opened.goto(server.address)
        return opened

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(visit: Callable[[Any], Any], server: Any) -> Iterator[Any]:
    """The page of the server, opened; whatever the console complains of fails the test."""
    opened = visit(server)
    opened.wait_for_selector("#source option", state="attached")
    yield opened
    assert not opened.complaints, opened.complaints
    assert all(url.startswith((server.address, f"blob:{server.address}")) for url in opened.requests), "elsewhere"


@pytest.fixture
def legible() -> Callable[[Any, str], None]:
    """legible(page, "main"): everything there can be read, and the page does not scroll sideways."""

    def check(opened: Any, place: str) -> None:
        assert opened.evaluate((Path(__file__).parent / "faint.js").read_text("utf-8"), place) == []
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")

    return check
