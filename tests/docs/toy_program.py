"""The program `seqloom` in its usual form, but its models are tiny and learn for four steps.

Torch is imported once; each command line runs in a fork. On the path of the shell stands a client (CLIENT), which hands
its working folder, its words and its three streams to a socket, passes signals on, and ends with the exit code of the
fork.
"""

import dataclasses
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from tests.launcher import run_child, warm_up

CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    socket.send_fds(line, [json.dumps([os.getcwd(), sys.argv[1:]]).encode()], [0, 1, 2])
    child = int(line.recv(20))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    sys.exit(int(line.recv(20)))
"""
SMALL_MODEL = {"width": 16, "embed_size": 0, "encoder_width": 0, "ffn_size": 32, "heads": 2, "layers": 1}
SHORT_RUN = {"max_steps": 4, "max_epochs": 0, "valid_every": 2, "save_every": 2, "warmup": 1, "average": 1}
FEW_DATES = {"NUM_PAIRS": 300, "NUM_VALID": 20, "NUM_TEST": 30}


def small(model: Any) -> Any:
    """The same kind of model, tiny."""
    sizes = {name: value for name, value in SMALL_MODEL.items() if getattr(model, name)}
    return dataclasses.replace(model, **sizes, decoder_layers=min(model.decoder_layers, 1))


def shrink(put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let every training and every plan of this process be one of a toy, whatever its recipe and budget say."""
    from seqloom.training import settings
    from seqloom.workflows import demo, plan

    settle, load = settings.settle_config, plan.load_config

    def settle_toy(*given: Any) -> Any:
        config = settle(*given)
        model, text = config.model, config.text
        if not (config.train.init or model.vectors):  # else the shape is that of the earlier model, of the vectors
            model = small(model)
            text = dataclasses.replace(text, vocab_size=min(text.vocab_size, 400))
        train = dataclasses.replace(config.train, **SHORT_RUN, threads=1, batch_tokens=512)
        return dataclasses.replace(config, model=model, text=text, train=train)

    def load_toy(*given: Any) -> Any:
        config = load(*given)
        return dataclasses.replace(config, model=small(config.model))

    put(settings, "settle_config", settle_toy)
    put(plan, "load_config", load_toy)
    put(plan, "SECONDS", 0.5)
    for name, value in (FEW_DATES | {"WANTED": 0.0}).items():
        put(demo, name, value)


def answer(line: socket.socket) -> None:
    """Run one command line in a fork, tell the client its number, wait for it, and tell the client how it ended."""
    message, streams, _, _ = socket.recv_fds(line, 1 << 16, 3)
    folder, words = json.loads(message)
    child = os.fork()
    if not child:
        line.close()
        nothing = os.open(os.devnull, os.O_WRONLY)
        run_child({"words": words, "folder": folder}, streams[0], (streams[1], streams[2], nothing))
    line.sendall(str(child).encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    line.sendall(str(code if code >= 0 else 128 - code).encode())


def listen(address: str) -> None:
    """Answer clients until standard input ends, which it does with the process that started this one."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while door in select.select([door, 0], [], [])[0]:
            line, _ = door.accept()
            if not os.fork():  # several commands of a pipe run beside each other
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                answer(line)
                os._exit(0)
            line.close()


if __name__ == "__main__":
    warm_up()
    shrink()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    listen(sys.argv[1])
    os._exit(0)  # Python would take seconds to tidy up after torch
