"""Trace: records attention weights, gates and states during a forward pass; the modules themselves keep none of them.

encoder.forward.0.gate.forget     (B, S, H)     direction and layer; in source order, for either direction
encoder.backward.0.state.hidden   (B, S, H)
decoder.0.gate.update             (R, k, H)     layer; one recording per step: torch.cat(trace[name], 1) joins them
decoder.attention                 (B, W, S)     one per step: the attention weights of each of W hypotheses
encoder.self.0, decoder.self.0, decoder.cross.0   (B, N, T, S)    layers of a Transformer, N heads

Recordings of an encoder's cells are 0 on padding. Other recordings are undefined beyond the end of a sentence.
A model continues with what `record` returns, so that a recorder can change it: seqloom/inside/what_if.py.
"""

from collections import defaultdict

from torch import Tensor


class Trace:
    """Recordings by name: after `trace.record("decoder.cross.0", weights)`, `trace["decoder.cross.0"]` lists them."""

    def __init__(self) -> None:
        self.records: defaultdict[str, list[Tensor]] = defaultdict(list)
        self.prefix = ""

    def record(self, name: str, tensor: Tensor) -> Tensor:
        """Record a tensor; returns the tensor that the model continues with."""
        self.records[self.prefix + name].append(tensor.detach())
        return tensor

    def steps(self, length: int, backward: bool) -> "Trace":
        """An empty recorder for a loop over `length` positions, one recording each; `backward`: last one first."""
        return Trace()

    def under(self, name: str) -> "Trace":
        """The same recorder for one part of the model, with `name` as a prefix of the names it records."""
        part = Trace()
        part.records, part.prefix = self.records, f"{self.prefix}{name}."
        return part

    def __getitem__(self, name: str) -> list[Tensor]:
        return self.records.get(self.prefix + name, [])  # `get`: reading must not add an entry

    def names(self) -> list[str]:
        """The full names of all recordings, sorted."""
        return sorted(self.records)


def part_of(trace: Trace | None, name: str) -> Trace | None:
    """`trace.under(name)`, or None if there is no trace."""
    return trace.under(name) if trace is not None else None
