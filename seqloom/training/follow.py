"""A training run in the processes after the first: they help to build its data, then train with it.

They write nothing but the shards of the data that process 0 gives them.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from seqloom.data.prepare import help_to_build
from seqloom.data.shards import BUILDING
from seqloom.data.store import Store
from seqloom.errors import DataError, SeqloomError, UsageError
from seqloom.runtime.folder import read_config
from seqloom.text.sides import Tokenizers
from seqloom.training.data import team_of
from seqloom.training.processes import OneProcess
from seqloom.training.request import TrainRequest, tell_nothing
from seqloom.training.run_parts import Run, find_own_device, prepare_torch


def announce(processes: OneProcess, run: Run, finished: bool) -> None:
    """Let the other processes open the data of this run, or end because the run has ended."""
    processes.from_first({"data": run.train.data_hash, "finished": finished})


def await_run(request: TrainRequest, processes: OneProcess) -> Run | None:
    """Wait for process 0 to prepare the data, which may take hours, and open it; None: the run has finished."""
    out = request.out
    if plan := processes.from_first(None):
        with named(processes):
            help_to_build(out / BUILDING, plan, lambda: Tokenizers.load(out), team_of(processes))
    found = processes.from_first(None)
    if found["finished"]:
        return None
    with named(processes):
        if not (out / "run.json").is_file() and not (out / "config.toml").is_file():
            raise UsageError(
                f"does not see {out}. All processes read the run folder that process 0 writes: put --out on a disk "
                "that all machines share."
            )
        config = read_config(out)
        prepare_torch(config)
        stores = Store.open(out / "store", "train"), Store.open(out / "store", "valid")
        if stores[0].data_hash != found["data"]:
            raise DataError(
                f"{out / 'store'} holds other data ({stores[0].data_hash[:12]}) than that of process 0 "
                f"({found['data'][:12]}). Put --out on a disk that all machines share."
            )
        silent = replace(request, quiet=True, tell=tell_nothing)
        return Run(silent, config, Tokenizers.load(out), *stores, find_own_device(config, processes))


@contextmanager
def named(processes: OneProcess) -> Iterator[None]:
    """Say in an error which process it comes from."""
    try:
        yield
    except SeqloomError as error:
        message = f"process {processes.world.rank} on {socket.gethostname()}: {error}"
        raise type(error)(message) from None
