"""A recorder handed down a forward pass: what a reader wants to see lands here, never on a module.

encoder.forward.0.gate.forget     (B, S, H)     direction and layer; source order, whichever way the layer reads
encoder.backward.0.state.hidden   (B, S, H)
decoder.0.gate.update             (R, k, H)     layer; one recording a step, torch.cat(trace[name], 1) is over time
decoder.attention                 (B, W, S)     one a step: what each of W hypotheses looks at
encoder.self.0, decoder.self.0, decoder.cross.0   (B, N, T, S)    layers of a Transformer, N heads

What an encoder's cells record is 0 on padding. Elsewhere a recording beyond the end of a sentence means nothing.
"""

from collections import defaultdict

from torch import Tensor


class Trace:
    """`trace.record("decoder.cross.0", weights)`; later `trace["decoder.cross.0"]` lists every recording in order."""

    def __init__(self) -> None:
        self.records: defaultdict[str, list[Tensor]] = defaultdict(list)
        self.prefix = ""

    def record(self, name: str, tensor: Tensor) -> None:
        self.records[self.prefix + name].append(tensor.detach())

    def under(self, name: str) -> "Trace":
        """The same recorder for one part of the model: what that records comes under `name`."""
        part = Trace()
        part.records, part.prefix = self.records, f"{self.prefix}{name}."
        return part

    def __getitem__(self, name: str) -> list[Tensor]:
        return self.records.get(self.prefix + name, [])  # to ask is not to record

    def names(self) -> list[str]:
        """All that was recorded, under full names."""
        return sorted(self.records)


def part_of(trace: Trace | None, name: str) -> Trace | None:
    """`trace.under(name)` where there is a trace."""
    return trace.under(name) if trace is not None else None
