"""The project's own source, read and parsed once for all house tests."""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    name: str  # seqloom/nn/cells.py
    text: str
    tree: ast.Module

    @property
    def module(self) -> str:
        """Its dotted name below the package: `nn.cells`; a package is its own name."""
        parts = Path(self.name).with_suffix("").parts[1:]
        return ".".join(part for part in parts if part != "__init__")


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    files = sorted((ROOT / "seqloom").rglob("*.py"))
    assert files
    texts = [(file.relative_to(ROOT).as_posix(), file.read_text("utf-8")) for file in files]
    return [Source(name, text, ast.parse(text, name)) for name, text in texts]


@pytest.fixture(scope="session")
def project_texts() -> dict[str, str]:
    """Every text that is part of the project: code, tests, pages, set-up."""
    folders = ("seqloom", "tests", "docs", "benchmarks", ".ci")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    files += [file for file in ROOT.iterdir() if file.is_file()]
    readable = {}
    for file in sorted(files):
        if "__pycache__" in file.parts:
            continue
        try:
            readable[file.relative_to(ROOT).as_posix()] = file.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture, or a test's broken file
    return readable
