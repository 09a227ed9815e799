"""Ctrl-C and SIGTERM: first a flag, then the exit."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from seqloom.training import signals
from seqloom.training.signals import SharedStop, StopFlag, stop_requested

WAIT = """
import time
from seqloom.training.signals import stop_requested
with stop_requested() as stop:
    print("ready", flush=True)
    while not stop:
        time.sleep(0.01)
    print("flag", flush=True)
    {then}
print("saved", flush=True)
raise SystemExit(stop.exit_code)
"""


def start(then: str) -> "subprocess.Popen[str]":
    code = WAIT.format(then=then)
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_sets_the_flag(number: int, code: int) -> None:
    process = start("pass")
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == code
    assert out == "flag\nsaved\n"
    assert err == "\nsaving, press Ctrl-C again to leave at once\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_leaves_at_once(number: int, code: int) -> None:
    process = start("time.sleep(60)")
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "flag\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == code
    assert out == ""
    assert "\x1b" not in err  # no terminal, no cursor to bring back


def test_handlers_are_restored_even_after_an_error() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(ZeroDivisionError), stop_requested() as stop:
        assert not stop
        assert signal.getsignal(signal.SIGTERM) == stop.on_signal
        _ = 1 / 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_the_flag_says_which(capfd: pytest.CaptureFixture[str]) -> None:
    with stop_requested() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop
        assert stop.exit_code == 143
    assert "saving" in capfd.readouterr().err


def test_another_thread_does_without() -> None:
    found: list[StopFlag] = []

    def work() -> None:
        with stop_requested() as stop:
            found.append(stop)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not found[0]
    assert signal.getsignal(signal.SIGTERM) == before


def test_one_of_several_processes_stops_when_all_know_and_takes_a_repeated_signal_for_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torchrun sends a Ctrl-C on to processes that have it already."""
    left: list[int] = []
    monkeypatch.setattr(signals.os, "_exit", left.append)
    stop = SharedStop()
    stop.on_signal(signal.SIGINT, None)
    stop.on_signal(signal.SIGTERM, None)
    assert (bool(stop), stop.heard, left) == (False, signal.SIGINT, [])
    stop.signal = stop.heard  # as `Several.agree` does, once every process has heard of it
    assert stop
    assert stop.exit_code == 130
    stop.since -= signals.SAME_SIGNAL + 1
    stop.on_signal(signal.SIGINT, None)
    assert left == [130]
