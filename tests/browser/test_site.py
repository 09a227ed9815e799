"""The documentation as a site: no warning, nothing loaded from elsewhere, a search that works offline."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\s(?:src|href)=["']?(?:https?:)?//[^"'>\s]+""")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: it comes with the extra dev")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr  # a broken link or anchor, a page that no menu has
    return folder


def test_every_page_of_docs_is_on_the_site(site):
    made = {page.relative_to(site).with_suffix("") for page in site.rglob("*.html")}
    assert made >= {page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")}
    assert made >= {Path(name) for name in ("index", "architecture", "contributing", "changelog")}


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = OUTSIDE.findall(page.read_text("utf-8"))
        assert not loaded, f"{page.relative_to(site)}: {loaded}"


def test_the_search_works_from_a_folder_without_a_server(site, browser):
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("length penalty")
    page.locator(".md-search-result__item").filter(has_text="length penalty").first.wait_for(timeout=30_000)
    assert [url for url in asked if not url.startswith("file:")] == []
    page.close()
