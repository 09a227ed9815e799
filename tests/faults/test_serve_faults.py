"""The row `serve` of the table of promises: a server that goes on answering, and one that ends as it should."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.promises import FAULTS, read_table
from tests.moments import flip

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="signals, prlimit")]

PROMISES = {fault: outcome for (stage, fault), outcome in read_table().items() if stage == "serve"}
SIGNALS = {"SIGKILL": (signal.SIGKILL, 1), "SIGTERM": (signal.SIGTERM, 1), "SIGINT twice": (signal.SIGINT, 2)}
# The command, with a clock that begins to jump when SIGUSR1 comes.
SERVE = """
import signal, sys
from seqloom.cli.app import main
from tests.moments import move_clock
signal.signal(signal.SIGUSR1, lambda *_: move_clock())
sys.exit(main(sys.argv[1:]))
"""
Ask = Callable[[], str]


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_model, tmp_path / "model")


@contextmanager
def serving(model: Path, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], Ask]]:
    """A server in a process of its own, and a function that asks it."""
    command = [sys.executable, "-c", SERVE, "serve", str(model), "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env=environment)
    assert process.stderr is not None
    address = next(word for line in process.stderr for word in line.split() if word.startswith("http://")).rstrip(".,/")

    def ask() -> str:
        body = json.dumps({"q": "abc def", "source": "src", "target": "tgt"}).encode()
        request = urllib.request.Request(f"{address}/translate", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.load(answer)["translatedText"])

    try:
        yield process, ask
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def do(fault: str, model: Path, process: "subprocess.Popen[str]") -> None:
    weights = model / "model.safetensors"
    match fault:
        case "disk full":
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
        case "read-only":
            model.chmod(0o555)
        case "vanished":
            weights.unlink()
        case "changed":
            weights.write_text("other things")
        case "bit flip":
            flip(weights)
        case "clock":
            process.send_signal(signal.SIGUSR1)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if PROMISES[fault] == "same"])
def test_it_goes_on_answering(fault: str, model: Path, environment: dict[str, str]) -> None:
    with serving(model, environment) as (process, ask):
        before = ask()
        do(fault, model, process)
        assert [ask() for _ in range(3)] == [before] * 3
        assert process.poll() is None


@pytest.mark.parametrize("fault", SIGNALS)
def test_it_ends_and_the_same_command_serves_again(fault: str, model: Path, environment: dict[str, str]) -> None:
    number, times = SIGNALS[fault]
    with serving(model, environment) as (process, ask):
        before = ask()
        for _ in range(times):
            process.send_signal(number)
        code = process.wait(60)
        assert code == (0 if PROMISES[fault] == "drained" else -number)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    with serving(model, environment) as (process, ask):
        assert ask() == before
