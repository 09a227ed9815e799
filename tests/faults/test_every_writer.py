"""Every command that writes: no room, a folder that cannot be written, and one that vanishes; files by the umask."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.scenes import leftovers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork, capabilities")

SMALL_VECTORS = ["--size", "6", "--epochs", "1", "--threads", "1", "--min-count", "1"]
# command: its words; each writes into the folder `out`, which is there
WRITERS = {
    "train": ["train", "pairs.tsv", "--out", "out/run", "--recipe", "tiny.toml"],
    "finish": ["finish", "out/run"],
    "translate": ["translate", "model", "few.txt", "-o", "out/text.txt"],
    "score": ["score", "model", "test.tsv", "-o", "out/scores.tsv"],
    "evaluate": ["evaluate", "model", "test.tsv", "--outputs", "out/text.txt"],
    "explain": ["explain", "model", "abc", "--view", "beam", "-o", "out/page.html"],
    "export": ["export", "model", "--format", "hf", "--out", "out/hf"],
    "engine": ["export", "out/run", "--format", "ctranslate2"],
    "import": ["import", "bert", "--out", "out/model"],
    "vectors": ["vectors", "train", "words.txt", "--out", "out/words.vec", *SMALL_VECTORS],
    "plot": ["vectors", "plot", "words.vec", "--out", "out/words.html"],
    "doctor": ["doctor", "pairs.tsv", "--fix", "out/fixed.tsv"],
    "ladder": ["ladder", "pairs.tsv", "--test", "test.tsv", "--out", "out/l", "--rungs", "tiny.toml", "--budget", "9h"],
}
FAULTS = {"no room": ["full"], "not writable": ["read-only", "out"], "vanished": ["remove folder", "out"]}
CODES = {"no room": (5,), "not writable": (2,), "vanished": (2,)}
FILES, FOLDERS = "seqloom.files.durable:make_file", "seqloom.files.folders:made_folder"  # the first temporary one
AFTER_IT_BEGAN = (5, 2)  # of commands that train: the call was right
QUICK = {("vectors", "no room"), ("export", "vanished"), ("evaluate", "not writable"), ("doctor", "no room")}


def cells() -> list[Any]:
    return [
        pytest.param(name, fault, marks=() if (name, fault) in QUICK else pytest.mark.slow)
        for name in WRITERS
        for fault in FAULTS
    ]


@pytest.fixture
def folder(request: pytest.FixtureRequest, template: Any, tmp_path: Path) -> Path:
    """All inputs, and `out` with a finished run whose weights are gone: `finish` has something to do."""
    made: Path = shutil.copytree(
        template(("model", "bert") if "import" in request.node.name else ("model",)), tmp_path / "folder"
    )
    (made / "out").mkdir()
    (made / "few.txt").write_text("abc\nabd\n", "utf-8")
    (made / "words.vec").write_text("3 2\na 1 0\nb 0 1\nc 1 1\n", "utf-8")
    return made


@pytest.mark.parametrize(("name", "fault"), cells())
def test_it_says_why_and_leaves_nothing_half_written(name: str, fault: str, start: Any, folder: Path) -> None:
    if name in ("finish", "engine"):
        shutil.copytree(folder / "model", folder / "out" / "run")
    if name == "finish":
        (folder / "out" / "run" / "model.safetensors").unlink()
    moment = FOLDERS if name in ("export", "engine", "import") else FILES
    answer = start(folder, WRITERS[name], at=moment, call=1, do=[FAULTS[fault]])
    assert answer["happened"], f"it made no temporary file or folder\n{answer['errors']}"
    trains = name in ("train", "finish", "ladder")
    assert answer["code"] in (AFTER_IT_BEGAN if trains else CODES[fault]), answer
    assert answer["errors"].count("seqloom: ") == 1
    (folder / "out").exists() and (folder / "out").chmod(0o755)
    if fault == "no room":
        assert not [left for left in leftovers(folder) if not left.endswith(".parts")]


def test_files_get_the_modes_of_the_umask(start: Any, folder: Path) -> None:
    assert start(folder, WRITERS["vectors"], umask=0o027)["code"] == 0
    assert {entry.name: entry.stat().st_mode & 0o777 for entry in (folder / "out").iterdir()} == {"words.vec": 0o640}
