"""One launcher for all tests of faults, and folders with what their commands read."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.scenes import WRITE_BERT, write_files

Start = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def start(environment: dict[str, str]) -> Iterator[Start]:
    """start(folder, words, **order): the answers of launcher.py."""
    script = Path(__file__).with_name("launcher.py")
    pipe = subprocess.PIPE
    launcher = subprocess.Popen([sys.executable, script], stdin=pipe, stdout=pipe, encoding="utf-8", env=environment)
    assert launcher.stdin is not None and launcher.stdout is not None

    def give(folder: Path, words: list[str], **order: Any) -> dict[str, Any]:
        print(json.dumps({"folder": str(folder), "words": words, **order}), file=launcher.stdin, flush=True)
        answer: dict[str, Any] = json.loads(launcher.stdout.readline())
        assert "Traceback" not in answer["errors"], answer["errors"]
        return answer

    with launcher:
        yield give
        launcher.stdin.close()


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
