"""The project's own source, read and parsed once for all house tests."""

import pytest

from tests.house.source import ROOT, Source, read_sources


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    return read_sources()


@pytest.fixture(scope="session")
def project_texts() -> dict[str, str]:
    """Every text that is part of the project: code, tests, pages, set-up."""
    folders = ("seqloom", "tests", "docs", "benchmarks", ".ci")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    files += [file for file in ROOT.iterdir() if file.is_file() and file.name != ".git"]
    readable = {}
    for file in sorted(files):
        if "__pycache__" in file.parts:
            continue
        try:
            readable[file.relative_to(ROOT).as_posix()] = file.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture, or a test's broken file
    return readable
