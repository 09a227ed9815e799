"""What the ladder's report says of the machine: minutes and tokens a second mean little without it."""

import platform
from pathlib import Path
from typing import Any

import torch

from seqloom.runtime.engines import usable_cores

CPU_FACTS = Path("/proc/cpuinfo")  # of Linux; elsewhere there is none


def describe_machine() -> dict[str, Any]:
    """That of the call which writes the report; run folders do not say where they were trained."""
    return {
        "cpu": cpu_name(), "cores": usable_cores(), "torch": torch.__version__, "python": platform.python_version(),
    }  # fmt: skip


def cpu_name() -> str:
    """The processor as its maker calls it, or the architecture: many ARM processors do not tell their name."""
    try:
        lines = CPU_FACTS.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor(), platform.machine()]), "unknown")
