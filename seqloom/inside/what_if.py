"""What if: the same model with some of its numbers changed by hand while it runs (`edits.py`).

A model continues with what its trace returns (nn/trace.py), so that an edit needs no second implementation of a layer.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seqloom.errors import UsageError, did_you_mean
from seqloom.inside.edits import Edit
from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.nn.trace import Trace


class EditingTrace(Trace):
    """A recorder that returns edited tensors. Recordings are of one text: positions are counted as they come."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        super().__init__()
        self.edits = edits
        self.counts: defaultdict[str, int] = defaultdict(int)  # positions recorded so far, by full name
        self.length = 0  # of a loop that reads backwards; 0 = positions come in their order
        self.seen: set[str] = set()

    def under(self, name: str) -> "EditingTrace":
        part = EditingTrace(self.edits)
        part.records, part.counts, part.seen = self.records, self.counts, self.seen
        part.prefix, part.length = f"{self.prefix}{name}.", self.length
        return part

    def steps(self, length: int, backward: bool) -> "EditingTrace":
        loop = StepsOf(self.edits)
        loop.path, loop.seen, loop.length = self.prefix, self.seen, length if backward else 0
        return loop

    def record(self, name: str, tensor: Tensor) -> Tensor:
        full = self.path_of(name)
        self.seen.add(full)
        first = self.counts[full]
        self.counts[full] += tensor.shape[-2]
        for edit in self.edits:
            if re.fullmatch(edit.name, full):
                tensor = self.apply(edit, tensor, first)
        return super().record(name, tensor)

    def path_of(self, name: str) -> str:
        return self.prefix + name

    def apply(self, edit: Edit, tensor: Tensor, first: int) -> Tensor:
        """The edited copy of a recording (..., positions, values) whose first position is `first`."""
        check_fits(edit, tensor)
        if edit.position is None:
            rows = slice(None)
        else:
            at = (self.length - 1 - edit.position if self.length else edit.position) - first
            if not 0 <= at < tensor.shape[-2]:
                return tensor
            rows = slice(at, at + 1)
        edited = tensor.clone()
        target = edited if edit.head is None else edited[:, edit.head]
        target[..., rows, :] = torch.tensor(edit.values, dtype=tensor.dtype, device=tensor.device)
        return edited


def check_fits(edit: Edit, tensor: Tensor) -> None:
    """UsageError for a head that is not there, or for another number of weights than there are source tokens."""
    name = edit.name.replace("\\", "")
    heads = tensor.shape[1] if tensor.ndim == 4 else 0
    if edit.head is not None and not 0 <= edit.head < heads:
        raise UsageError(f"{name}, head {edit.head}: " + (f"want 0 to {heads - 1}" if heads else "it has no heads"))
    if edit.each and len(edit.values) != tensor.shape[-1]:
        raise UsageError(f"{len(edit.values)} attention weights for {tensor.shape[-1]} source tokens; want one each")


class StepsOf(EditingTrace):
    """The recorder of a loop over time: it keeps short names, and edits know the full ones."""

    path = ""

    def path_of(self, name: str) -> str:
        return self.path + name


class EditedModel(Seq2Seq):
    """A model with edits: search, scoring and explaining see a model like any other. For one text at a time."""

    def __init__(self, model: Seq2Seq, edits: Sequence[Edit]) -> None:
        super().__init__()
        self.model, self.edits = model, edits
        self.target_vocab_size = model.target_vocab_size
        for name in ("source_table", "target_table"):  # where gradients with respect to tokens begin
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self.trace = EditingTrace(edits)

    def encode(self, tokens: Tensor, mask: Tensor, trace: Trace | None = None) -> Memory:
        self.trace = EditingTrace(self.edits)
        memory = self.model.encode(tokens, mask, self.trace)
        hand_over(self.trace, trace)
        return memory

    def start(self, memory: Memory, beams: int = 1) -> State:
        self.trace.counts = defaultdict(int)
        return self.model.start(memory, beams)

    def step(self, tokens: Tensor, state: State, memory: Memory, trace: Trace | None = None) -> tuple[Tensor, State]:
        self.trace.records = defaultdict(list)
        found = self.model.step(tokens, state, memory, self.trace)
        hand_over(self.trace, trace)
        return found

    def project(self, hidden: Tensor) -> Tensor:
        return self.model.project(hidden)

    def check(self) -> None:
        """UsageError for an edit whose recording the model does not have; call it after a search."""
        for edit in self.edits:
            if not any(re.fullmatch(edit.name, name) for name in self.trace.seen):
                plain = edit.name.replace("\\", "")
                raise UsageError(f"{plain}: this model has no such part.{did_you_mean(plain, self.trace.seen)}")


def hand_over(edited: Trace, trace: Any) -> None:
    """Give what was recorded to the caller's own recorder."""
    if trace is not None:
        for name, tensors in edited.records.items():
            for tensor in tensors:
                trace.record(name, tensor)
