"""A recorder handed down a forward pass: what a reader wants to see lands here, never on a module."""

from collections import defaultdict

from torch import Tensor


class Trace:
    """`trace.record("decoder.cross.0", weights)`; later `trace["decoder.cross.0"]` lists every recording in order."""

    def __init__(self) -> None:
        self.records: defaultdict[str, list[Tensor]] = defaultdict(list)

    def record(self, name: str, tensor: Tensor) -> None:
        self.records[name].append(tensor.detach())

    def __getitem__(self, name: str) -> list[Tensor]:
        return self.records[name]

    def names(self) -> list[str]:
        return sorted(self.records)
