"""What must be equal in all processes of a run, or their sums would round differently or mean different things.

Each process describes itself; process 0 compares. A difference is refused with both values, before the first step. A
run that continues on another machine is not refused: run.json records both, and a notice says so.
"""

import functools
import hashlib
import platform
import socket
from pathlib import Path
from typing import Any

import torch

from seqloom.config import TASKS, TrainConfig
from seqloom.data.corpus import CorpusSpec, parse_mix
from seqloom.errors import UsageError
from seqloom.files.durable import hash_file
from seqloom.training.processes import OneProcess
from seqloom.training.request import Tell
from seqloom.training.run_parts import Run

MOST_SHOWN = 3  # processes in a message
THEN = ", then "  # between the machines of a run that moved


def describe_process(run: Run) -> dict[str, str]:
    """Describe the program, the machine and the files of this process, one line each."""
    files = {Path(file).name: hash_file(Path(file))[:12] for spec in named_corpora(run) for file in spec.files}
    return {
        "code of seqloom": hash_of_code()[:12],
        **describe_machine(run.device),
        "threads per process": str(torch.get_num_threads()),
        "precision": run.config.train.precision,
        "data": run.train.data_hash[:12],
        **{f"content of {name}": sha for name, sha in files.items()},
    }


def describe_machine(device: torch.device) -> dict[str, str]:
    """Describe what the rounding of sums depends on, beside the threads and the precision, which are settings."""
    return {
        "torch": torch.__version__,
        "kind of processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, {processor_name()}",
        "device": torch.cuda.get_device_name() if device.type == "cuda" else device.type,
    }


def note_machine(before: dict[str, str] | None, device: torch.device, tell: Tell) -> dict[str, str]:
    """Return what run.json says of the machine of a run that continues; tell the user what has changed."""
    now = describe_machine(device)
    last = {name: value.rpartition(THEN)[2] for name, value in (before or now).items()}
    changed = {name: value for name, value in now.items() if value != last.get(name)}
    if changed:
        rows = "\n".join(
            f"  {name}: {last.get(name, 'unknown')} before, {value} now" for name, value in changed.items()
        )
        tell(
            f"this run began on another machine or with another torch:\n{rows}\nSums may be rounded otherwise here: "
            "from now on, the weights may differ in their last bits from those of a run that stays on one machine."
        )
    joined = {name: f"{before[name]}{THEN}{value}" for name, value in changed.items() if before and name in before}
    return now | (before or {}) | joined


def named_corpora(run: Run) -> list[CorpusSpec]:
    """Return the corpora that are files of the user; other pairs are in the run folder, and the data hash has them."""
    form, columns = TASKS[run.config.task.name].form, run.request.columns
    plain = [name for name in (*run.request.pairs, run.request.valid) if isinstance(name, str) and name != "-"]
    mixed = [parse_mix(name, columns, form) for name in run.request.mix]
    return [CorpusSpec.parse(name, columns, form=form) for name in plain] + mixed


@functools.cache
def hash_of_code() -> str:
    """Return one hash of all source files of this package."""
    folder = Path(__file__).parents[1]
    lines = [f"{file.relative_to(folder).as_posix()} {hash_file(file)}\n" for file in sorted(folder.rglob("*.py"))]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def processor_name() -> str:
    """Return the name of the processor: libraries choose their kernels by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def refuse_too_many(processes: OneProcess, train: TrainConfig) -> None:
    """Raise a UsageError when some processes would have nothing to compute."""
    size, parts = processes.world.size, train.accumulate
    if size > parts:
        smaller = max(1, train.batch_tokens // size)
        raise UsageError(
            f"{size} processes, but a step has only {parts} to share out (train.accumulate = {parts}): each process "
            f"computes whole parts. Start at most {parts}, or begin a new run with --set "
            f"train.accumulate={size}; --set train.batch_tokens={smaller} as well keeps the tokens of a step."
        )


def refuse_differences(processes: OneProcess, run: Run) -> None:
    """Raise a UsageError in every process when one of them differs from process 0."""
    if processes.world.size == 1:
        return
    own = {"host": socket.gethostname(), "facts": describe_process(run)}
    every = processes.merged({processes.world.rank: own})
    first = every[0]
    different = {number: other for number, other in every.items() if other["facts"] != first["facts"]}
    if not different:
        return
    blocks = [
        f"process {number} on {other['host']} differs from process 0 on {first['host']}:\n{diff(first, other)}"
        for number, other in [*different.items()][:MOST_SHOWN]
    ]
    more = f"\nand {len(different) - MOST_SHOWN} more processes" if len(different) > MOST_SHOWN else ""
    raise UsageError(
        "\n".join(blocks) + more + "\nAll processes need the same program, data and kind of machine: otherwise the "
        "weights would depend on which process computes what. Nothing was trained."
    )


def diff(first: dict[str, Any], other: dict[str, Any]) -> str:
    there, here = first["facts"], other["facts"]
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    return "\n".join(f"  {name}: {there.get(name, 'none')} there, {here.get(name, 'none')} here" for name in names)
