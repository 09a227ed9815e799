"""A launcher for test_resume and test_several_processes: starts command lines and stops them at a chosen moment.

One JSON order a line, on stdin. Torch is imported once; each command line runs in a fork. An order:
    {"words": [...], "signal": 9, "times": 1,
     "at": "seqloom.training.loop:Loop.update", "call": 3,           stop when this is called the third time, or
     "log": ".../metrics.jsonl", "step": 7, "delay": 0.01,        stop that long after this step is in the log
     "largest_file": 1000,                                        no file may grow beyond (a full disk)
     "other": "seqloom.training.same_everywhere:hash_of_code",    this function returns "other"
     "world": 2, "rank": 1, "environment": {...}}                 several processes as torchrun starts them; the stop is
                                                                  for the one of this rank, and so are these variables
The answer: {"code": exit code, or minus the signal (of that rank), "codes": those of all, "errors": standard error}
"""

import importlib
import json
import os
import resource
import signal
import socket
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
        world, rank, port = order.get("world", 1), order.get("rank", 0), free_port()
        agent = start_store(port, errors.fileno()) if world > 1 else 0
        children = []
        for number in range(world):
            children.append(os.fork())
            if not children[-1]:
                if world > 1:
                    os.environ.update(torchrun_variables(number, world, port))
                os.environ.update(order.get("environment", {}) if number == rank else {})
                run_child(order if number == rank else {"words": order["words"]}, errors.fileno())
        if "log" in order:
            wait_for_step(children[rank], Path(order["log"]), order["step"])
            time.sleep(order["delay"])
            os.kill(children[rank], order["signal"])
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if agent:
            os.kill(agent, signal.SIGKILL)
            os.waitpid(agent, 0)
        errors.seek(0)
        return {"code": codes[rank], "codes": codes, "errors": errors.read()}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start_store(port: int, errors: int) -> int:
    """Start what the processes meet at; with torchrun it is in a process of its own too, and outlives them."""
    child = os.fork()
    if not child:
        try:
            os.dup2(errors, 2)
            store = importlib.import_module("torch.distributed").TCPStore("127.0.0.1", port, is_master=True)
            while store is not None:
                time.sleep(1)
        finally:
            os._exit(1)
    return child


def torchrun_variables(rank: int, world: int, port: int) -> dict[str, str]:
    variables = {"RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
    return {
        "MASTER_ADDR": "127.0.0.1",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        **{name: str(value) for name, value in variables.items()},
    }


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
        if "other" in order:
            answer_otherwise(order["other"])
        code = main(order["words"])
    except SystemExit as left:  # of several processes, those that leave the talking to another
        code = int(left.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def stop_at(order: dict[str, Any]) -> None:
    """Put a wrapper around the named function that sends this process the signal before the chosen call."""
    owner, name = owner_of(order["at"])
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


def owner_of(function: str) -> tuple[Any, str]:
    module, _, path = function.partition(":")
    *owners, name = path.split(".")
    return reduce(getattr, owners, importlib.import_module(module)), name


def answer_otherwise(function: str) -> None:
    owner, name = owner_of(function)
    setattr(owner, name, lambda *_: "other")


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
