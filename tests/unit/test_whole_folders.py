"""Folders and files appear whole or not at all, and an error says where, why and what to do."""

import errno
import os
import re
import tempfile
from pathlib import Path

import pytest

from seqloom.errors import TrainingError, UsageError, WriteError
from seqloom.files.durable import cannot_write, hash_file, new_file, replace_file, write_new
from seqloom.files.folders import (
    new_folder,
    remove_folder,
    replaced_folder,
    restored_on_failure,
)
from seqloom.files.leftovers import SCRATCH, clear_leftovers, scratch_folder
from seqloom.training.checkpoint import last_one_kept


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def write(folder: Path, content: str) -> None:
    write_new(folder / "file", content)
    (folder / "inner").mkdir()
    write_new(folder / "inner" / "other", content)


def test_a_folder_is_replaced_whole(tmp_path):
    for content in ("old", "new"):
        with replaced_folder(tmp_path / "made" / "store") as new:
            assert names(new) == []
            write(new, content)
    assert names(tmp_path / "made") == ["store"]
    assert (tmp_path / "made" / "store" / "inner" / "other").read_text() == "new"


@pytest.mark.parametrize("fault", [ValueError("no"), KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
def test_a_fault_leaves_the_old_folder(tmp_path, fault):
    with replaced_folder(tmp_path / "store") as new:
        write(new, "old")
    with (
        pytest.raises(WriteError if isinstance(fault, OSError) else type(fault)),
        replaced_folder(tmp_path / "store") as new,
    ):
        write_new(new / "file", "half")
        raise fault
    assert names(tmp_path) == ["store"]
    assert (tmp_path / "store" / "file").read_text() == "old"


def test_a_rename_that_fails_puts_the_old_folder_back(tmp_path, monkeypatch):
    with replaced_folder(tmp_path / "store") as new:
        write(new, "old")
    rename = Path.rename

    def fail(self, target):
        if self.name.startswith(".saving"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with (
        pytest.raises(WriteError, match="store: cannot be written: input/output error"),
        replaced_folder(tmp_path / "store") as new,
    ):
        write(new, "new")
    assert names(tmp_path) == ["store"]
    assert (tmp_path / "store" / "file").read_text() == "old"


def test_a_file_inside_that_cannot_be_written_is_told_of_the_folder(tmp_path, monkeypatch):
    """Nobody knows the folder that was to be renamed."""

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(WriteError, match=re.escape(f"{tmp_path / 'store'}: cannot be written: the disk is full")),
        replaced_folder(tmp_path / "store") as new,
    ):
        replace_file(new / "tokenizer.json", "{}")
    assert names(tmp_path) == []


@pytest.mark.parametrize("there", [False, True])
def test_a_new_folder_may_be_an_empty_one(tmp_path, there):
    out = tmp_path / "a" / "out"
    if there:
        out.mkdir(parents=True)
        number = out.stat().st_ino
    with new_folder(out) as new:
        write(new, "text")
        assert not (out / "file").exists()
    assert names(out) == ["file", "inner"]
    assert not there or out.stat().st_ino == number  # it may be the folder somebody stands in
    with pytest.raises(UsageError, match="the folder exists and is not empty; name a new one"), new_folder(out):
        pass


@pytest.mark.parametrize("there", [False, True])
def test_a_new_folder_is_not_left_half_written(tmp_path, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()
    with pytest.raises(KeyError), new_folder(out) as new:
        write(new, "text")
        raise KeyError
    assert names(tmp_path) == (["out"] if there else [])
    assert not there or names(out) == []


def test_what_is_made_anew_and_fails_is_as_it_was(tmp_path):
    folder = tmp_path / "engine"
    with replaced_folder(folder) as new:
        write(new, "old")
    with pytest.raises(KeyError), restored_on_failure(folder):
        with replaced_folder(folder) as new:
            write(new, "new")
        raise KeyError
    assert (folder / "file").read_text() == "old"
    with restored_on_failure(folder), replaced_folder(folder) as new:
        write(new, "new")
    assert (folder / "file").read_text() == "new"
    assert names(tmp_path) == ["engine"]


def test_leftovers_are_known_by_their_names(tmp_path):
    for name in (".saving-a", ".replaced-a", ".removing-b", ".replaced-b", ".saving-mine", "b"):
        (tmp_path / name).mkdir()
    clear_leftovers(tmp_path, re.compile("[ab]"))
    assert names(tmp_path) == [".saving-mine", "a", "b"]
    remove_folder(tmp_path / "a")
    assert names(tmp_path) == [".saving-mine", "b"]


def test_a_file_is_written_whole(tmp_path):
    file = tmp_path / "file"
    replace_file(file, "Grüße\n")
    assert file.read_bytes() == "Grüße\n".encode()
    with pytest.raises(KeyError), new_file(file) as out:
        out.write(b"half")
        raise KeyError
    assert file.read_bytes() == "Grüße\n".encode()
    assert names(tmp_path) == ["file"]
    assert hash_file(file) == write_new(tmp_path / "same", "Grüße\n")


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        (errno.ENOSPC, 5, "the disk is full, or a quota or file-size limit is reached. Free some space, then run"),
        (errno.EACCES, 2, "permission denied. Make its folder writable, or choose another one."),
        (errno.EROFS, 2, "read-only file system. Make its folder writable, or choose another one."),
        (errno.EIO, 2, "input/output error. Correct that, then run the same command again."),
    ],
)
def test_what_cannot_be_written_is_told_and_of_no_verb(code, exit_code, said):
    error = cannot_write(Path("runs/x/run.json"), OSError(code, os.strerror(code)))
    assert str(error).startswith(f"runs/x/run.json: cannot be written: {said}")
    assert error.exit_code == exit_code
    assert "train" not in str(error)


def test_only_training_speaks_of_checkpoints(tmp_path):
    with (
        pytest.raises(TrainingError, match=r"a: cannot be written\. There is no checkpoint yet: training starts"),
        last_one_kept(tmp_path),
    ):
        raise WriteError("a: cannot be written.")
    (tmp_path / "step-00000007").mkdir()
    with pytest.raises(TrainingError, match="The last checkpoint, step-00000007, is kept"), last_one_kept(tmp_path):
        raise WriteError("a: cannot be written.")


def test_what_a_living_process_writes_is_no_leftover(tmp_path):
    with new_file(tmp_path / "file") as out, replaced_folder(tmp_path / "store") as new:
        out.write(b"half")
        clear_leftovers(tmp_path, re.compile("file|store"))
        assert names(tmp_path) == [".file.part", ".saving-store"]
        message = "file: cannot be written: another process is writing it now. Wait for it"
        with pytest.raises(WriteError, match=message):
            replace_file(tmp_path / "file", "other")
        with pytest.raises(WriteError, match="store: cannot be written: another"), replaced_folder(tmp_path / "store"):
            pass
        write(new, "whole")
        out.write(b" and half")
    assert names(tmp_path) == ["file", "store"]
    assert (tmp_path / "file").read_text() == "half and half"


def test_leftovers_of_files_are_cleared_by_name_and_by_writing_again(tmp_path):
    for name in (".run.json.part", ".other.part", ".mine.part"):
        (tmp_path / name).write_text("half")
    clear_leftovers(tmp_path, re.compile(re.escape("run.json")))
    replace_file(tmp_path / "other", "whole")
    assert names(tmp_path) == [".mine.part", "other"]


def test_an_old_folder_comes_back_when_a_kill_left_it_alone(tmp_path):
    for name in (".before-engine", ".replaced-store"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("old")
    clear_leftovers(tmp_path, re.compile("engine|store"))
    assert names(tmp_path) == ["engine", "store"]
    (tmp_path / "engine").rename(tmp_path / ".before-engine")
    with pytest.raises(KeyError), restored_on_failure(tmp_path / "engine"):
        clear_leftovers(tmp_path, re.compile("engine"))  # another call, meanwhile
        assert names(tmp_path) == [".before-engine", "store"]
        raise KeyError
    assert (tmp_path / "engine" / "file").read_text() == "old"


def test_a_scratch_folder_of_a_dead_process_is_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"{SCRATCH}dead").mkdir()
    (tmp_path / "seqloom-mine").mkdir()
    with scratch_folder() as first, scratch_folder() as second:
        assert sorted(names(tmp_path)) == sorted([first.name, second.name, "seqloom-mine"])
    assert names(tmp_path) == ["seqloom-mine"]


@pytest.mark.parametrize("old", [True, False])
def test_a_folder_that_was_not_checked_before_a_kill_is_not_kept(tmp_path, old):
    """The old one comes back; if there was none, there is none."""
    for name in (".before-engine", "engine"):
        (tmp_path / name).mkdir()
    (tmp_path / "engine" / "file").write_text("unchecked")
    if old:
        (tmp_path / ".before-engine" / "file").write_text("old")
    clear_leftovers(tmp_path, re.compile("engine"))
    assert names(tmp_path) == (["engine"] if old else [])
    assert not old or (tmp_path / "engine" / "file").read_text() == "old"
