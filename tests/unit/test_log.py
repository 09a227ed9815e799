"""metrics.jsonl: a resumed log equals an uninterrupted one."""

import builtins
import errno
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seqloom.errors import WriteError
from seqloom.training import metrics_log as log_module
from seqloom.training.metrics_log import MetricsLog


@pytest.fixture(autouse=True)
def no_board(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "board" not in request.node.name:
        monkeypatch.setattr(log_module, "open_board", lambda folder, from_step: None)


def lines(run: Path) -> list[dict[str, Any]]:
    content = (run / "metrics.jsonl").read_text("ascii")  # whatever a sentence holds, any reader splits the lines right
    assert content.endswith("\n")
    return [json.loads(line) for line in content.splitlines()]


def test_an_event_is_in_the_file_when_write_returns(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, 0) as log:
        log.write({"event": "train", "step": 1, "loss": 2.5, "text": "drei Hünde\u2028\n\ud800"})
        assert lines(tmp_path) == [{"event": "train", "step": 1, "loss": 2.5, "text": "drei Hünde\u2028\n\ud800"}]


def test_nan_and_infinity_become_words(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, 0) as log:
        log.write({"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": -float("inf")}, "e": None, "f": True})
    assert "NaN" not in (tmp_path / "metrics.jsonl").read_text()
    assert lines(tmp_path) == [{"a": "nan", "b": ["inf", 1.5], "c": {"d": "-inf"}, "e": None, "f": True}]


@pytest.mark.parametrize("torn", [b"", b'{"event": "tr', b'{"event": "train", "step": 5}', b"\x00\x00\xc3"])
def test_a_resumed_log_equals_an_uninterrupted_one(tmp_path: Path, torn: bytes) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for run in (whole, killed):
        run.mkdir()
        with MetricsLog(run, 0) as log:
            for step in range(5 if run is killed else 9):
                log.write({"event": "train", "step": step, "loss": step / 3})
    with (killed / "metrics.jsonl").open("ab") as file:
        file.write(torn)
    with MetricsLog(killed, 3) as log:
        for step in range(4, 9):
            log.write({"event": "train", "step": step, "loss": step / 3})
    assert (killed / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    assert [path.name for path in killed.iterdir()] == ["metrics.jsonl"]


def test_an_event_of_the_saved_step_that_comes_again_is_not_repeated(tmp_path: Path) -> None:
    """Killed after a validation was logged, before it was saved: the next start validates the same step again."""
    for start in (0, 3):
        with MetricsLog(tmp_path, start) as log:
            for step in range(start + 1, 4):
                log.write({"event": "train", "step": step})
            log.write({"event": "valid", "step": 3, "seconds": start})
            log.write({"event": "end", "step": 3 + start})
    assert lines(tmp_path) == [
        *({"event": "train", "step": step} for step in (1, 2, 3)),
        {"event": "valid", "step": 3, "seconds": 0},
        {"event": "end", "step": 3},
        {"event": "end", "step": 6},
    ]


def test_a_run_that_starts_again_starts_a_new_log(tmp_path: Path) -> None:
    for _ in range(2):
        with MetricsLog(tmp_path, 0) as log:
            log.write({"event": "start", "step": 0})
    assert lines(tmp_path) == [{"event": "start", "step": 0}]


def test_a_log_that_needs_no_cut_is_not_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MetricsLog(tmp_path, 0) as log:
        log.write({"step": 3})
    monkeypatch.setattr(log_module, "replace_file", lambda path, content: pytest.fail("rewritten"))
    MetricsLog(tmp_path, 3).close()
    assert lines(tmp_path) == [{"step": 3}]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, 0)
    log.file.close()
    log.file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 (closed by the log)
    with log, pytest.raises(WriteError, match="disk is full"):
        log.write({"step": 1})


def test_no_board_without_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tensorboard" else find(name))
    with MetricsLog(tmp_path, 0) as log:
        log.write({"step": 1, "loss": 2.0})
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_no_board_when_tensorboard_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def broken(name: str, *rest: Any) -> Any:
        if name.startswith("tensorboard"):
            raise AttributeError("built for another version")
        return real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "there")
    monkeypatch.setattr(builtins, "__import__", broken)
    with MetricsLog(tmp_path, 0) as log:
        log.write({"step": 1, "loss": 2.0})
    assert lines(tmp_path) == [{"step": 1, "loss": 2.0}]


class FullDisk:
    """A file that takes no byte, or only a part of what is written."""

    def __init__(self, takes: int) -> None:
        self.takes = takes

    def write(self, record: bytes) -> int:
        if not self.takes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.takes

    def close(self) -> None:
        pass


@pytest.mark.parametrize("takes", [0, 3])
def test_a_board_on_a_full_disk_is_dropped_and_the_log_goes_on(takes: int, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    events = [{"step": step, "loss": 2.0} for step in (1, 2, 3)]
    with MetricsLog(tmp_path, 0) as log:
        assert log.board is not None
        log.board.file.close()
        log.board.file = FullDisk(takes)
        for event in events:
            log.write(event)
        assert log.board is None
    assert lines(tmp_path) == events


BOARD = """
import sys
from pathlib import Path
from seqloom.training.metrics_log import MetricsLog
run = Path(sys.argv[1])
for start, end in ((0, 4), (2, 6)):
    log = MetricsLog(run, start)
    for step in range(start + 1, end):
        log.write({"event": "train", "step": step, "loss": start + step / 10, "note": "no number", "flag": True})
    log.close()
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator(str(run / "tensorboard")).Reload()
print(board.Tags()["scalars"], [(e.step, round(e.value, 3)) for e in board.Scalars("train/loss")])
"""


def test_the_board_shows_the_numbers_and_forgets_what_was_undone(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    run = subprocess.run([sys.executable, "-c", BOARD, tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "['train/loss'] [(1, 0.1), (2, 0.2), (3, 2.3), (4, 2.4), (5, 2.5)]\n"
