"""A launcher for test_resume: starts command lines and stops them at a chosen moment. One JSON order a line, on stdin.

Torch is imported once; each command line runs in a fork. An order:
    {"words": [...], "signal": 9, "times": 1,
     "at": "seqloom.training.loop:Loop.update", "call": 3,           stop when this is called the third time, or
     "log": ".../metrics.jsonl", "step": 7, "delay": 0.01,        stop that long after this step is in the log
     "largest_file": 1000}                                        no file may grow beyond (a full disk)
The answer: {"code": exit code, or minus the signal, "errors": standard error}
"""

import importlib
import json
import os
import resource
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any


def start(order: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        child = os.fork()
        if not child:
            run_child(order, errors.fileno())
        if "log" in order:
            wait_for_step(child, Path(order["log"]), order["step"])
            time.sleep(order["delay"])
            os.kill(child, order["signal"])
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return {"code": os.waitstatus_to_exitcode(status), "errors": errors.read()}


def run_child(order: dict[str, Any], errors: int) -> None:
    """Never returns."""
    code = 99
    try:
        from seqloom.cli.app import main

        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(source, target)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 (the old one has orders in its buffer)
        if "largest_file" in order:
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest_file"], order["largest_file"]))
        if "at" in order:
            stop_at(order)
        code = main(order["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def stop_at(order: dict[str, Any]) -> None:
    """Put a wrapper around the named function that sends this process the signal before the chosen call."""
    module, _, path = order["at"].partition(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, importlib.import_module(module))
    real = getattr(owner, name)
    calls = 0

    def wrapper(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == order["call"]:
            for _ in range(order.get("times", 1)):
                os.kill(os.getpid(), order["signal"])
        return real(*args, **options)

    setattr(owner, name, wrapper)


def wait_for_step(child: int, log: Path, step: int) -> None:
    """Until the step is logged, or the child is no more."""
    word = f'"step": {step},'
    while not (log.exists() and word in log.read_text()):
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.002)


def warm_up() -> None:
    """Import what every start would: torch itself fetches some of it only when an optimizer is made."""
    importlib.import_module("seqloom.workflows.train")
    torch = importlib.import_module("torch")
    torch.optim.AdamW([torch.zeros(1)])
    with suppress(ImportError):
        importlib.import_module("tensorboard.summary.writer.record_writer")


if __name__ == "__main__":
    warm_up()
    for line in sys.stdin:
        print(json.dumps(start(json.loads(line))), flush=True)
    os._exit(0)  # Python would take seconds to tidy up after torch
