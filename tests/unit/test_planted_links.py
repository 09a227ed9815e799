"""Links that were planted in a folder: writing never goes through them, and a run folder with one is refused."""

import errno
import os
from pathlib import Path

import pytest

from seqloom.cli.app import explain
from seqloom.errors import ModelError, TrainingError, WriteError
from seqloom.files.durable import new_file, replace_file, write_new
from seqloom.files.folders import replaced_folder
from seqloom.files.lock import run_lock
from seqloom.training.metrics_log import MetricsLog


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Somebody's file outside the run folder; it must stay as it is."""
    file = tmp_path / "private"
    file.write_text("mine")
    return file


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.mark.parametrize("name", ["lock", ".run.json.part", "checkpoints", "store/manifest.json", "metrics.jsonl"])
def test_a_run_folder_with_a_link_is_refused(name: str, run: Path, private: Path) -> None:
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).symlink_to(private)
    with pytest.raises(ModelError, match=r"a symbolic link inside .* Remove it, or .* larger disk"), run_lock(run):
        pass
    assert private.read_text() == "mine"


def test_a_lock_with_a_second_name_is_refused(run: Path, private: Path) -> None:
    (run / "lock").hardlink_to(private)
    with pytest.raises(ModelError, match="not a file of its own"), run_lock(run):
        pass
    assert private.read_text() == "mine"


def test_the_run_folder_itself_may_be_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    with run_lock(tmp_path / "link"):
        assert (run / "lock").is_file()


def test_a_temporary_file_that_is_a_link_is_replaced(run: Path, private: Path) -> None:
    (run / ".run.json.part").symlink_to(private)
    replace_file(run / "run.json", "{}")
    assert (run / "run.json").read_text() == "{}" and not (run / "run.json").is_symlink()
    assert private.read_text() == "mine"


def test_a_temporary_folder_that_is_a_link_is_replaced(run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("mine")
    for name in (".saving-store", ".replaced-store"):
        (run / name).symlink_to(elsewhere)
    with replaced_folder(run / "store") as new:
        write_new(new / "ids", b"1")
    assert (run / "store" / "ids").read_bytes() == b"1"
    assert [entry.name for entry in elsewhere.iterdir()] == ["kept"]


def test_no_log_and_no_file_is_written_through_a_link(run: Path, private: Path) -> None:
    for name in ("metrics.jsonl", "weights"):
        (run / name).symlink_to(private)
    with pytest.raises(OSError, match="symbolic links"):
        write_new(run / "weights", b"1")
    with pytest.raises((ModelError, WriteError), match="link"):
        MetricsLog(run)
    assert private.read_text() == "mine"


def test_modes_follow_the_umask(run: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(run / "run.json", "{}")
        write_new(run / "ids", b"1")
        with run_lock(run):
            pass
    finally:
        os.umask(before)
    assert {entry.name: entry.stat().st_mode & 0o777 for entry in run.iterdir()} == dict.fromkeys(
        ("run.json", "ids", "lock"), 0o640
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_or_a_file_size_limit_is_exit_code_5(
    number: int, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WriteError) as caught, new_file(run / "x"):
        raise OSError(number, os.strerror(number))
    assert caught.value.exit_code == TrainingError.exit_code
    assert explain(OSError(number, os.strerror(number)), []) == TrainingError.exit_code
    assert "file-size limit" in capsys.readouterr().err
