"""The reference pages are what the code says now."""

import ast
import re
import runpy
from pathlib import Path

import pytest

import seqloom

ROOT = Path(__file__).parents[2]
GENERATED = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES, API = GENERATED["PAGES"], GENERATED["API"]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (ROOT / name).read_text("utf-8") == PAGES[name](), f"{name} is not what the code says: run `make docs`"


def test_the_python_page_shows_every_public_name():
    shown = [name for names in API.values() for name in names]
    assert sorted(shown) == sorted(set(seqloom.__all__) - {"__version__"}), "add the name to API in docs/generate.py"


def test_everything_on_the_python_page_has_a_docstring_and_types():
    """A signature without a type, or an empty paragraph after one, is what a reader could not use."""
    page = PAGES["docs/reference/python.md"]()
    described = re.findall(r"```python\n([\w.]+)(\(.*?|: .*?)\n```\n\n(.*?)\n", page, re.DOTALL)
    assert len(described) > 30
    for name, rest, text in described:
        assert text.strip(), f"{name} has no docstring"
        arguments = ast.parse(f"def f{rest}: ...").body[0].args if rest[0] == "(" else ast.arguments([], [], None, [])
        untyped = [a.arg for a in (*arguments.args, *arguments.kwonlyargs) if a.annotation is None]
        assert not untyped, f"{name}: {', '.join(untyped)} without a type"
