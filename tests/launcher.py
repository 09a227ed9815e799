"""Starts command lines, each in a process of its own; stops it or breaks something at the moment that a test chooses.

One JSON order per line on stdin, one answer each. Torch is imported once; each command line runs in a fork. An order:
    {"words": [...], "folder": "...", "stdin": "...",        the command line, its working folder, what it reads
     "at": "seqloom.training.loop:Loop.update", "call": 3,   the moment: before this function is called the third time
     "do": [["full"], ["remove", "pairs.tsv"]],              what happens then, see moments.py; in order
     "log": ".../metrics.jsonl", "step": 7, "delay": 0.01,   or: that long after this step is in the log ...
     "signal": 9,                                            ... this signal comes
     "largest_file": 1000,                                   no file may grow beyond (a full disk)
     "other": "seqloom.training.same_everywhere:hash_of_code",    this function returns "other"
     "umask": 0o022,
     "world": 2, "rank": 1, "environment": {...}}            several processes as torchrun starts them; what breaks is
                                                             the one of this rank, and so are these variables
The answer: {"code": exit code, or minus the signal (of that rank), "codes": those of all, "output": standard output,
"errors": standard error, "happened": did it come to the moment?}

The forks give up the superuser's right to ignore the modes of files, so that a folder can be read-only for them.
"""

import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from tests.moments import answer_otherwise, break_at, limit_files, obey_modes

PIPES = ("output", "errors", "moment")


def start(order: dict[str, Any]) -> dict[str, Any]:
    world, rank, port = order.get("world", 1), order.get("rank", 0), free_port()
    given, giving = os.pipe()
    reading, writing = zip(*(os.pipe() for _ in PIPES), strict=True)
    agent = start_store(port, (given, giving, *reading, *writing)) if world > 1 else 0
    children = []
    for number in range(world):
        children.append(os.fork())
        if not children[-1]:
            os.close(giving)
            if world > 1:
                os.environ.update(torchrun_variables(number, world, port))
            os.environ.update(order.get("environment", {}) if number == rank else {})
            whole = {"words": order["words"], "folder": order.get("folder", ".")}
            run_child(order if number == rank else whole, given, writing)
    for pipe in (given, *writing):
        os.close(pipe)
    feeder = Thread(target=feed, args=(giving, order.get("stdin", "")))
    feeder.start()
    if "log" in order:
        wait_for_step(children[rank], Path(order["log"]), order["step"])
        time.sleep(order["delay"])
        os.kill(children[rank], order["signal"])
    said = dict(zip(PIPES, read_all(reading), strict=True))
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    feeder.join()
    if agent:
        os.kill(agent, signal.SIGKILL)
        os.waitpid(agent, 0)
    texts = {name: said[name].decode("utf-8", "surrogateescape") for name in ("output", "errors")}
    return {"code": codes[rank], "codes": codes, "happened": bool(said["moment"]), **texts}


def feed(pipe: int, text: str) -> None:
    with suppress(BrokenPipeError), os.fdopen(pipe, "wb") as stream:
        stream.write(text.encode("utf-8", "surrogateescape"))


def read_all(pipes: tuple[int, ...]) -> list[bytes]:
    """Read all pipes to their ends, whichever has something first."""
    found = dict.fromkeys(pipes, b"")
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                part = os.read(key.fd, 1 << 16)
                found[key.fd] += part
                if not part:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return list(found.values())


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start_store(port: int, pipes: tuple[int, ...]) -> int:
    """Start what the processes meet at; with torchrun it is in a process of its own too, and outlives them."""
    child = os.fork()
    if not child:
        try:
            for pipe in pipes:
                os.close(pipe)
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


def run_child(order: dict[str, Any], given: int, pipes: tuple[int, ...]) -> None:
    """Never returns."""
    code = 99
    try:
        from seqloom.__main__ import main

        output, errors, moment = pipes
        for source, target in ((given, 0), (output, 1), (errors, 2)):
            os.dup2(source, target)
            os.close(source)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 (the old one has orders in its buffer)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
        sys.argv = ["seqloom", *order["words"]]
        os.chdir(order.get("folder", "."))
        os.umask(order.get("umask", 0o022))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
        obey_modes()
        if "largest_file" in order:
            limit_files(order["largest_file"])
        if "at" in order:
            break_at(order["at"], order.get("call", 1), order["do"], moment)
        if "other" in order:
            answer_otherwise(order["other"])
        code = main()
    except SystemExit as left:  # of several processes, those that leave the talking to another
        code = int(left.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait_for_step(child: int, log: Path, step: int) -> None:
    """Until the step is logged, or the child is no more."""
    word = f'"step": {step},'
    while not (log.exists() and word in log.read_text()):
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.002)


def warm_up() -> None:
    """Import what every start would: torch itself fetches some of it only when an optimizer is made."""
    for name in ("cli.app", *(f"workflows.{verb}" for verb in ("train", "translate", "evaluate", "export", "bulk"))):
        importlib.import_module(f"seqloom.{name}")
    torch = importlib.import_module("torch")
    torch.optim.AdamW([torch.zeros(1)])
    with suppress(ImportError):
        importlib.import_module("tensorboard.summary.writer.record_writer")


if __name__ == "__main__":
    warm_up()
    for line in sys.stdin:
        print(json.dumps(start(json.loads(line))), flush=True)
    os._exit(0)  # Python would take seconds to tidy up after torch
