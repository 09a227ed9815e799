"""Every file of a model folder in turn is something else: a FIFO, a socket, a device, a link, a terabyte of nothing."""

import os
import shutil
from pathlib import Path

import pytest

from tests.fuzz.folder import good_folder
from tests.hostile.bounds import KINDS, end_of, put_in_place

FILES = [
    "config.toml", "run.json", "model.safetensors", "golden.json", "metrics.jsonl", "tokenizer/tokenizer.json",
    "checkpoints/step-00000003/manifest.json", "checkpoints/step-00000003/state.json",
    "checkpoints/step-00000003/model.safetensors", "store/manifest.json", "store/excluded.tsv",
    "store/train/source.ids", "store/train/source.starts", "store/train/lines", "store/valid/texts.jsonl",
]  # fmt: skip
MORE = ["card.md", "basis.safetensors", "started_from.json", "engine/manifest.json", "lock", ".run.json.part"]

QUICK = ("FIFO", "itself", "terabyte")  # in the everyday tests
SOME_KINDS = [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in KINDS]


def copy_of(folder: Path) -> Path:
    return Path(shutil.copytree(good_folder(), folder / "model", copy_function=os.link))


@pytest.mark.parametrize("kind", SOME_KINDS)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_refused(tmp_path, capfd, name, kind):
    folder = copy_of(tmp_path)
    put_in_place(folder / name, kind)
    checked = ["info", folder, "--check"]
    said = end_of(checked, capfd, [3, 4] if name != "metrics.jsonl" else [0, 4])
    assert name == "metrics.jsonl" or folder.name in said


@pytest.mark.parametrize("kind", SOME_KINDS)
@pytest.mark.parametrize("name", MORE)
def test_what_is_no_file_where_a_file_may_be(tmp_path, capfd, name, kind):
    folder = copy_of(tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).touch()
    put_in_place(folder / name, kind)
    end_of(["info", folder], capfd, [0, 4])


def test_links_to_their_own_folder_have_no_end(tmp_path, capfd):
    """Two of them, followed one inside the other, are as many folders as there are stars."""
    folder = copy_of(tmp_path)
    for name in ("a", "b", "checkpoints/c", "tokenizer/d"):
        (folder / name).symlink_to(".")
    (folder / "r").symlink_to("/")
    end_of(["info", folder], capfd, [0])
    end_of(["info", folder, "--check"], capfd, [0, 4])


@pytest.mark.parametrize(
    "part",
    [
        "other",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("tokenizer", "store", "engine", "checkpoints")),
    ],
)
def test_a_thousand_folders_inside_each_other(tmp_path, monkeypatch, capfd, part):
    """The functions of the library that walk through folders call themselves, and a path has 4,096 bytes."""
    folder = copy_of(tmp_path)
    (folder / part).mkdir(exist_ok=True)
    monkeypatch.chdir(folder / part)
    for _ in range(1100):
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")
    monkeypatch.chdir(tmp_path)
    said = end_of(["info", folder], capfd, [4])
    assert "more than 32 folders inside each other" in said
    if part == "other":
        end_of(["train", tmp_path / "no.tsv", "--out", folder], capfd, [2, 4])
    undo_depth(folder / part, monkeypatch)


def undo_depth(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete folders from the innermost outwards: pytest itself would call itself too often."""
    monkeypatch.chdir(place)
    deep = 0
    while Path("d").exists():
        os.chdir("d")
        deep += 1
    for _ in range(deep):
        os.chdir("..")
        Path("d").rmdir()


def test_there_are_enough_of_them():
    assert len(KINDS) * len([*FILES, *MORE]) >= 100
