"""The bar and the lines: one of them, with the right numbers."""

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from seqloom import progress as progress_module
from seqloom.progress import LiveBar, Pace, PlainLines, clock, make_progress, show

FIELDS = {"loss": 3.14159, "lr": 3e-4, "tokens_per_second": 12345.6, "mfu": 0.456, "epoch": 2, "bleu": 12.3456}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock in your hand: now[0] is the time, for progress alone: threads of other tests live by the true one."""
    hand = [1000.0]
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: hand[0]))
    return hand


def test_known_fields_have_their_own_form() -> None:
    assert show(FIELDS) == ["loss 3.142", "lr 3.00e-04", "12,346 tokens/s", "MFU 46%", "epoch 2", "bleu 12.35"]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0s"), (59.6, "1m00s"), (75, "1m15s"), (4000, "1h06m")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_plain_lines_come_first_at_once_then_by_interval_then_the_last(now: list[float]) -> None:
    stream = io.StringIO()
    progress = make_progress("train", 100, stream=stream)
    assert isinstance(progress, PlainLines)
    for step in range(1, 26):
        now[0] += 1
        progress.update(step, {"loss": 1.0})
    progress.message("a word [in between]")
    progress.close()
    progress.close()
    assert stream.getvalue().splitlines() == [
        "train: step 1/100  1%  loss 1.000  ETA 1m39s",
        "train: step 11/100  11%  loss 1.000  ETA 1m29s",
        "train: step 21/100  21%  loss 1.000  ETA 1m19s",
        "train: step 25/100  25%  loss 1.000  ETA 1m15s",  # what was done before the word
        "a word [in between]",
    ]
    assert "\x1b" not in stream.getvalue()


def test_the_end_is_told_once_and_has_no_eta(now: list[float]) -> None:
    stream = io.StringIO()
    with make_progress("train", 30, budget_seconds=99, stream=stream) as progress:
        for step in (10, 20):
            now[0] += 1
            progress.update(step)
        progress.finish(23, {"loss": 1.0})
        progress.message("the end")
    assert stream.getvalue().splitlines() == [
        "train: step 10/30  33%  ETA 2s", "train: step 23/30  100%  loss 1.000", "the end",
    ]  # fmt: skip
    stream = io.StringIO()
    with make_progress("train", 10, stream=stream) as progress:
        now[0] += 100
        progress.update(10)
        progress.finish(10)  # was written just before
    assert stream.getvalue() == "train: step 10/10  100%  ETA 0s\n"


def test_pace_by_steps_counts_only_the_work_of_this_process(now: list[float]) -> None:
    pace = Pace(total=1000, budget=None, start=900)
    assert pace.seconds_left(900) is None  # nothing done yet: nothing to promise
    now[0] += 50
    assert pace.share(950) == 0.95
    assert pace.seconds_left(950) == 50


def test_setting_up_is_not_part_of_the_speed(now: list[float]) -> None:
    stream = io.StringIO()
    progress = make_progress("train", 100, budget_seconds=1000, stream=stream)
    now[0] += 60  # reading, importing
    with progress:
        now[0] += 10
        progress.update(10)
    assert stream.getvalue() == "train: step 10/100  10%  ETA 1m30s\n"
    assert progress.pace.share(0) == 0.07  # but of the budget


def test_pace_by_the_clock(now: list[float]) -> None:
    pace = Pace(total=None, budget=100, spent=20)
    now[0] += 30
    assert pace.share(7) == 0.5
    assert pace.seconds_left(7) == 50
    now[0] += 500
    assert (pace.share(7), pace.seconds_left(7)) == (1.0, 0.0)


def test_pace_by_both_takes_the_nearer_end(now: list[float]) -> None:
    pace = Pace(total=10, budget=100)
    now[0] += 10
    assert (pace.share(5), pace.seconds_left(5)) == (0.5, 10)
    assert (pace.share(1), pace.seconds_left(1)) == (0.1, 90)


def test_counting_without_an_end() -> None:
    stream = io.StringIO()
    with make_progress("read a.tsv", unit="line", stream=stream) as progress:
        progress.update(1_200_000)
    assert stream.getvalue() == "read a.tsv: line 1,200,000\n"


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with make_progress("train", 10, quiet=True) as progress:
        progress.update(3, FIELDS)
        progress.message("hush")
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_the_bar_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    stream = Terminal()
    with make_progress("train", 200, stream=stream) as progress:
        assert isinstance(progress, LiveBar)
        progress.update(100, FIELDS)
        progress.message("[not markup] and a very long line " + "x" * 200)
    text = stream.getvalue()
    assert "[not markup] and a very long line " + "x" * 200 + "\n" in text
    assert "step 100/200  loss 3.142  lr 3.00e-04  12,346 tokens/s  MFU 46%" in text
    assert "train: step" not in text
    assert text.endswith("\x1b[?25h")  # the cursor is back


def test_a_bar_that_never_moved_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    make_progress("train", 200, stream=stream)
    assert stream.getvalue() == ""


def test_a_bar_for_budget_and_for_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for options in ({"budget_seconds": 60.0}, {}):
        stream = Terminal()
        with make_progress("train", stream=stream, **options) as progress:  # type: ignore[arg-type]
            progress.update(10)
        assert "step 10" in stream.getvalue()
        assert ("ETA" in stream.getvalue()) == bool(options)


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_progress("train", 1, stream=Terminal()), PlainLines)


def test_standard_output_stays_clean() -> None:
    code = "from seqloom.progress import make_progress\nwith make_progress('x', 2) as p: p.update(1); print('data')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert run.stdout == "data\n"
    assert run.stderr == "x: step 1/2  50%  ETA 0s\n"
