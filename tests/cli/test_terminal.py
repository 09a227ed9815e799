"""What a person sees in a terminal while training: a pseudo-terminal, and the lines as they are at the end."""

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
CONTROL = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|\r|\n")


def screen(output: str) -> list[str]:
    """The lines of a terminal that got this output: what was erased or overwritten is not there."""
    lines, row, column, place = [""], 0, 0, 0
    for control in [*CONTROL.finditer(output), None]:
        text = output[place : control.start() if control else len(output)]
        lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
        column += len(text)
        if control is None:
            break
        place = control.end()
        if control[0] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif control[0] == "\r":
            column = 0
        elif control[2] == "K":
            lines[row] = "" if control[1] == "2" else lines[row][:column]
        elif control[2] == "A":
            row -= int(control[1] or 1)
    return [line.rstrip() for line in lines]


@pytest.fixture
def in_terminal(environment: dict[str, str]) -> Callable[..., list[str]]:
    """in_terminal(*words, stop_at="..."): run a command line; Ctrl-C is typed when text like this pattern appears."""

    def run(*words: object, stop_at: str = "") -> list[str]:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "seqloom", *map(str, words)]
        env = {**environment, "TERM": "xterm", "COLUMNS": "150"}
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
        os.close(theirs)
        output, until = b"", time.monotonic() + 120
        while time.monotonic() < until:
            try:
                block = os.read(ours, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not block:
                break
            output += block
            if stop_at and re.search(stop_at, output.decode(errors="replace")):
                stop_at = ""
                process.send_signal(2)
        process.wait(30)
        os.close(ours)
        return screen(output.decode())

    return run


def bars(lines: list[str], label: str) -> list[str]:
    return [line for line in lines if line.startswith(f"{label} ")]


def test_a_screen_forgets_what_was_erased() -> None:
    assert screen("bar 1\r\x1b[2Knotice\r\nbar 2\r\x1b[2Kbar 3") == ["notice", "bar 3"]
    assert screen("a\r\nb\x1b[1A\r\x1b[2Kc") == ["c", "b"]


@pytest.mark.slow
def test_notices_stand_on_lines_of_their_own_and_bars_end_at_the_end(
    in_terminal: Callable[..., list[str]], tiny_pairs: Path, tiny_settings: list[str], tmp_path: Path
) -> None:
    lines = in_terminal("train", tiny_pairs, "--out", tmp_path / "run", *tiny_settings, "--set", "train.log_every=4")
    (train,) = bars(lines, "train")
    assert "step 6/6" in train
    assert "ETA" not in train
    (learning,) = bars(lines, "learning")
    assert "pair 300/300" in learning
    starts = ("recipe ", "tokenizer: ", "training: ", "step 3: ", "step 6: ", "training ends after step 6", "weights: ")
    for start in (*starts, "speed: a bare matrix product", "model in "):
        assert len([line for line in lines if line.startswith(start)]) == 1, start
    assert lines.index(train) < next(n for n, line in enumerate(lines) if line.startswith("training ends"))
    assert not [line for line in lines if "[-" in line or "{+" in line]
    assert "1 thread on cpu" in "\n".join(lines)


def test_ctrl_c_leaves_one_bar_that_shows_where_it_stopped(
    in_terminal: Callable[..., list[str]], tiny_pairs: Path, tiny_settings: list[str], tmp_path: Path
) -> None:
    settings = [*tiny_settings, "--set", "train.max_steps=100000", "--set", "train.valid_every=100000"]
    lines = in_terminal("train", tiny_pairs, "--out", tmp_path / "run", *settings, stop_at=r"step [1-9][\d,]*/")
    assert "saving, press Ctrl-C again to leave at once" in lines
    (stopped,) = [line for line in lines if line.startswith("seqloom: stopped after step ")]
    step = int(stopped.split("step ")[1].split(",")[0])
    (train,) = bars(lines, "train")
    assert f"step {step:,}/" in train
    assert "ETA" not in train
