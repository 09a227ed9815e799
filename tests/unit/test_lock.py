"""One train per folder; the lock of a dead process is free."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from seqloom.errors import InUse, UsageError
from seqloom.files import lock
from seqloom.files.lock import run_lock

HOLD = """
import sys, time
from pathlib import Path
from seqloom.files.lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_another_process_is_respected_and_dies_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(UsageError) as caught, run_lock(folder):
        pass
    assert f"another train (pid {process.pid}, since 20" in str(caught.value)
    assert f"is using {folder}; wait for it or choose another --out" in str(caught.value)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with run_lock(folder):
        assert json.loads((folder / "lock").read_text())["pid"] == os.getpid()


def test_one_with_patience_waits_for_the_other(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(InUse, match="another train"), run_lock(tmp_path, patience=0.3):
        pass
    threading.Timer(0.5, process.kill).start()
    told: list[str] = []
    with run_lock(tmp_path, patience=30, tell=told.append):
        assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    (line,) = told
    assert line.startswith(f"waiting for another call (pid {process.pid}, since 20")
    with run_lock(tmp_path, patience=30, tell=told.append):
        assert len(told) == 1  # nobody to wait for


def test_it_is_freed_at_the_end_even_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), run_lock(tmp_path):
        _ = 1 / 0
    with run_lock(tmp_path), pytest.raises(UsageError, match="another train"), run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass


def test_refused_work_leaves_nothing_behind_that_it_did_not_make(tmp_path: Path) -> None:
    for folder, more, left in (("new/in/new", None, None), ("there", None, []), ("full", "data", ["data", "lock"])):
        if left is not None:
            (tmp_path / folder).mkdir()
        with pytest.raises(ZeroDivisionError), run_lock(tmp_path / folder):
            if more:
                (tmp_path / folder / more).write_text("")
            _ = 1 / 0
        assert (tmp_path / folder).exists() == (left is not None)
        assert not (tmp_path / "new").exists()
        assert left is None or sorted(file.name for file in (tmp_path / folder).iterdir()) == left


def test_a_longer_note_of_an_earlier_run_is_gone(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("x" * 999)
    with run_lock(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


def test_a_second_one_leaves_the_note_of_the_first(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        before = (tmp_path / "lock").read_text()
        with pytest.raises(UsageError), run_lock(tmp_path):
            pass
        assert (tmp_path / "lock").read_text() == before


def test_a_note_not_written_yet_or_from_elsewhere(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        (tmp_path / "lock").write_text("")
        with pytest.raises(UsageError, match=r"another train \(unknown pid\)"), run_lock(tmp_path):
            pass
        (tmp_path / "lock").write_text('{"pid": 7, "host": "far", "since": "noon"}')
        with pytest.raises(UsageError, match=r"another train \(pid 7 on far, since noon\)"), run_lock(tmp_path):
            pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write there"), run_lock(tmp_path / "file" / "run"):
        pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(handle: int, flags: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(UsageError, match=r"no locks available.*--out on a local disk"), run_lock(tmp_path):
        pass


def test_a_file_that_was_deleted_meanwhile_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is refused takes its lock away with it; who waited must hold the file that others will meet."""
    take, calls = lock.take, []

    def deleted_before(handle: int) -> bool:
        calls.append(handle)
        if len(calls) == 1:
            (tmp_path / "lock").unlink()
        return take(handle)

    monkeypatch.setattr(lock, "take", deleted_before)
    with run_lock(tmp_path):  # even without patience
        assert len(calls) == 2
        with pytest.raises(InUse), run_lock(tmp_path):
            pass
