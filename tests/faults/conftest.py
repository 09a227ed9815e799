"""Command lines in which something breaks, and folders with what their commands read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.scenes import WRITE_BERT, write_files

Start = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def start(launch: Callable[..., dict[str, Any]]) -> Start:
    """start(folder, words, **order): the answers of tests/launcher.py."""
    return lambda folder, words, **order: launch(words, folder=str(folder), **order)


@pytest.fixture(scope="session")
def template(start: Start, python: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    """template(needs): a folder with the inputs, and with the models that are asked for."""
    made: dict[tuple[str, ...], Path] = {}

    def make(needs: tuple[str, ...]) -> Path:
        if needs not in made:
            folder = tmp_path_factory.mktemp("template")
            write_files(folder)
            if "model" in needs:
                answer = start(folder, ["train", "pairs.tsv", "--out", "model", "--recipe", "tiny.toml"])
                assert answer["code"] == 0, answer["errors"]
            if "bert" in needs:
                pytest.importorskip("transformers", reason="transformers is not installed")
                done = python("-W", "ignore", "-c", WRITE_BERT, folder / "bert")
                assert done.returncode == 0, done.stderr
            made[needs] = folder
        return made[needs]

    return make
