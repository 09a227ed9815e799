"""The reference pages are what the code says now."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "generate.py"))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (DOCS / "reference" / name).read_text("utf-8") == PAGES[name](), "run `make docs`"
