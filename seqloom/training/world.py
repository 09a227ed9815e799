"""The processes of a run, as torchrun announces them to each: how many there are, and which one this is.

    RANK, WORLD_SIZE               number of this process, number of all processes
    LOCAL_RANK, LOCAL_WORLD_SIZE   the same on this machine
    MASTER_ADDR, MASTER_PORT       where the processes meet

Without RANK and WORLD_SIZE a run has one process.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from seqloom.errors import UsageError
from seqloom.runtime.engines import usable_cores

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class World:
    rank: int = 0  # the number of this process
    size: int = 1  # processes of the run
    local_rank: int = 0
    local_size: int = 1  # processes of the run on this machine


def read_world(environment: Mapping[str, str] = os.environ) -> World:
    """Read the environment of this process; a UsageError when only some of the variables are set."""
    if not ("RANK" in environment or "WORLD_SIZE" in environment):
        return World()  # MASTER_ADDR alone may be set for all programs of a cluster
    if missing := [name for name in NEEDED if not environment.get(name)]:
        there = ", ".join(f"{name}={environment[name]}" for name in NEEDED if environment.get(name))
        raise UsageError(
            f"the environment names a process of several ({there}), but {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not set. Start all processes with `torchrun --nproc_per_node N -m "
            "seqloom train ...`, or unset these variables to train with one process."
        )
    rank, size = whole_number("RANK", environment), whole_number("WORLD_SIZE", environment)
    local_rank = whole_number("LOCAL_RANK", environment, rank)
    local_size = whole_number("LOCAL_WORLD_SIZE", environment, size)
    if not (0 <= rank < size and 0 <= local_rank < local_size <= size):
        raise UsageError(
            f"RANK={rank} of WORLD_SIZE={size}, LOCAL_RANK={local_rank} of LOCAL_WORLD_SIZE={local_size}: a rank is "
            "at least 0 and below the number of processes. torchrun sets these variables; do not set them by hand."
        )
    return World(rank, size, local_rank, local_size)


def whole_number(name: str, environment: Mapping[str, str], default: int = 0) -> int:
    text = environment.get(name) or str(default)
    try:
        return int(text)
    except ValueError:
        raise UsageError(
            f"{name}={text}: want a whole number. torchrun sets this variable; unset it to train with one process."
        ) from None


def default_threads(world: World, environment: Mapping[str, str] = os.environ) -> int:
    """Return the threads of a process with train.threads = 0: OMP_NUM_THREADS, else its share of the cores.

    torchrun sets OMP_NUM_THREADS=1 for several processes, however many cores there are, so 1 does not count then.
    """
    first = environment.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    asked = int(first) if first.isdecimal() else 0
    if asked > 1 or (asked and world.local_size == 1):
        return asked
    return max(1, usable_cores() // world.local_size)
