"""Ensemble of models:  p(y_t | y_<t, x) = 1/M sum_m p_m(y_t | y_<t, x).

The members must share their vocabularies and nothing else: a recurrent network and a Transformer can be combined.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from seqloom.decode.score import log_softmax
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.models.traced_attention import POOLED, read_attention
from seqloom.nn.trace import Trace


class Ensemble(Seq2Seq):
    """Ensemble of models; `hidden` returns log-probabilities (D = V), because the widths of the members may differ."""

    def __init__(self, members: Sequence[Seq2Seq]) -> None:
        super().__init__()
        sizes = {member.target_vocab_size for member in members}
        if len(sizes) != 1:
            raise UsageError(
                f"an ensemble needs models with the same target vocabulary, got vocabularies of sizes {sorted(sizes)}"
            )
        self.members: Iterable[Seq2Seq] = nn.ModuleList(members)  # type: ignore[assignment]
        self.target_vocab_size = sizes.pop()

    def encode(self, tokens: Tensor, mask: Tensor, trace: Trace | None = None) -> Memory:
        """One memory whose keys are the memories of the members; its annotations are the first member's and not used.

        The encoders record nothing: states of different models have no meaningful average.
        """
        memories = [member.encode(tokens, mask) for member in self.members]
        parts = [(memory.annotations, memory.mask, memory.last, memory.keys) for memory in memories]
        return Memory(memories[0].annotations, mask, keys=parts)

    def start(self, memory: Memory, beams: int = 1) -> State:
        return [member.start(Memory(*parts), beams) for member, parts in zip(self.members, memory.keys, strict=True)]

    def step(self, tokens: Tensor, state: State, memory: Memory, trace: Trace | None = None) -> tuple[Tensor, State]:
        after: list[State] = []

        def advance(member: Seq2Seq, number: int, own: Memory, own_trace: Trace | None) -> Tensor:
            hidden, new = member.step(tokens, state[number], own, own_trace)
            after.append(new)
            return hidden

        return self.ask(advance, memory, trace), after

    def hidden(self, tokens: Tensor, memory: Memory, trace: Trace | None = None) -> Tensor:
        return self.ask(lambda member, _, own, own_trace: member.hidden(tokens, own, own_trace), memory, trace)

    def project(self, hidden: Tensor) -> Tensor:
        return hidden

    def ask(
        self, answer: Callable[[Seq2Seq, int, Memory, Trace | None], Tensor], memory: Memory, trace: Trace | None
    ) -> Tensor:
        """log of the members' mean probability; records the mean attention of the members that have attention."""
        log_probs, attention = [], []
        for number, (member, parts) in enumerate(zip(self.members, memory.keys, strict=True)):
            own_trace = Trace() if trace is not None else None
            log_probs.append(log_softmax(member.project(answer(member, number, Memory(*parts), own_trace))))
            if own_trace is not None and (weights := read_attention(own_trace)) is not None:
                attention.append(weights)
        if trace is not None and attention:
            trace.record(POOLED, torch.stack(attention).mean(0))
        return torch.stack(log_probs).logsumexp(0) - math.log(len(log_probs))
