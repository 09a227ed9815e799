"""The machine that trains: this one, measured, or a described one."""

import os
from dataclasses import dataclass

from seqloom.errors import UsageError

ASSUMED_MFU = 0.3  # share of a bare matrix product that training usually reaches; measured on this machine instead
ASSUMED_BANDWIDTH = 10.0  # Gbit/s: a usual network card


@dataclass(frozen=True)
class Machine:
    """What is known of a machine; None: to be measured, or not given."""

    cores: int | None = None  # cores, or GPUs, per node
    gflops: float | None = None  # GFLOP/s of a bare matrix product on one of them; None: this machine
    nodes: int = 1
    bandwidth: float = ASSUMED_BANDWIDTH  # Gbit/s of one process's connection
    mfu: float = ASSUMED_MFU

    @property
    def is_here(self) -> bool:
        return self.gflops is None

    def check(self) -> None:
        """Refuse numbers that describe no machine, and half a description."""
        limits = {"cores": self.cores, "gflops": self.gflops, "nodes": self.nodes, "bandwidth": self.bandwidth}
        for name, number in limits.items():
            if number is not None and not 0 < number < float("inf"):
                raise UsageError(f"--{name} {number:g}: want a number above 0")
        if not 0 < self.mfu <= 1:
            raise UsageError(f"--mfu {self.mfu:g}: want a share from 0 to 1, such as 0.3")
        described = [name for name, given in (("cores", self.cores is not None), ("nodes", self.nodes != 1)) if given]
        if self.mfu != ASSUMED_MFU:
            described.append("mfu")
        if self.is_here and described:
            raise UsageError(
                f"--{described[0]} describes another machine, and its speed is missing: give --gflops, the GFLOP/s of "
                "a bare matrix product on one of its cores or GPUs. Without both, this machine is measured."
            )

    def speed_of_process(self, world: int) -> float:
        """Operations per second of one of `world` processes in training, on a described machine."""
        assert self.gflops is not None
        return self.nodes * (self.cores or 1) * self.gflops * 1e9 * self.mfu / world


def memory_here() -> int | None:
    """The bytes of memory of this machine; None where the system does not say."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
