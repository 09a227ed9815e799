"""The contract of a model as two functions of plain tensors, which can be traced into graphs.

encoder   tokens (B,S)                -> memory, first state
step      token (R,), memory, state   -> log p (R,V), next state

A nest of tensors becomes a row of them, each under its path: `memory.keys.0.values`, `state.past.0.keys`. What is no
tensor becomes one: an integer one number a row, the past before the first word a tensor of length 0. Which axes grow
with the source and with the past is found by trying: the model runs at two lengths.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seqloom.models.api import Memory, Seq2Seq, State, each_leaf, each_tensor
from seqloom.text.vocabulary import BOS, EOS, PAD

Axes = tuple[int | str, ...]  # a number, or the name of a length that is free: batch, rows, source, past
# What the parts of a tuple are, told by their ranks: a cell's states, attention's keys and values, a Gaussian score's.
PART_NAMES = {(2,): ("h",), (2, 2): ("h", "c"), (4, 4): ("keys", "values"), (3, 2): ("keys", "half_squares")}


def named(nest: State, name: str) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of a nest under its path."""
    if isinstance(nest, Tensor):
        yield name, nest
    elif isinstance(nest, dict):
        for key, part in nest.items():
            yield from named(part, f"{name}.{key}")
    elif isinstance(nest, (tuple, list)):
        ranks = tuple(part.ndim if isinstance(part, Tensor) else 0 for part in nest)
        keys = PART_NAMES.get(ranks) if isinstance(nest, tuple) else None
        for key, part in zip(keys or range(len(nest)), nest, strict=True):
            yield from named(part, f"{name}.{key}")


def filled(like: State, tensors: Iterator[Tensor]) -> State:
    """The same nest with the next of these tensors wherever it has one."""
    return each_tensor(lambda _: next(tensors), like)


def numbers_by_row(state: State, rows: int) -> State:
    """What all rows share each row is told."""
    return each_leaf(lambda leaf: torch.full((rows,), leaf) if isinstance(leaf, int) else leaf, state)


@dataclass(frozen=True)
class Example:
    """What the two functions are given and make, with lengths of which no two are alike."""

    tokens: Tensor  # (B, S)
    token: Tensor  # (R,)
    memory: dict[str, State]
    state: State  # after some words

    @classmethod
    def of(cls, model: Seq2Seq, longer: int = 0) -> "Example":
        sentences, beams, source, past = 2, 3, 5 + longer, 4 + longer
        tokens, token = torch.full((sentences, source), EOS), torch.full((sentences * beams,), BOS)
        memory = model.encode(tokens, tokens != PAD)
        state = numbers_by_row(model.start(memory, beams), len(token))
        for _ in range(past):
            _, state = model.step(token[:, None], state, memory)
        return cls(tokens, token, vars(memory), state)

    @property
    def tensors(self) -> dict[str, Tensor]:
        return {**dict(named(self.memory, "memory")), **dict(named(self.state, "state"))}

    def axes(self, longer: "Example") -> dict[str, Axes]:
        """What each axis is, seen by what is longer in an example of a longer source and past."""
        found = {}
        for (name, small), large in zip(self.tensors.items(), longer.tensors.values(), strict=True):
            first, grows = ("batch", "source") if name.startswith("memory.") else ("rows", "past")
            rest = zip(small.shape[1:], large.shape[1:], strict=True)
            found[name] = (first, *(grows if a != b else a for a, b in rest))
        return found


class EncoderGraph(nn.Module):
    """tokens -> the tensors of the memory, then those of the first state: one hypothesis a sentence."""

    def __init__(self, model: Seq2Seq, axes: dict[str, Axes]) -> None:
        super().__init__()
        self.model, self.axes = model, axes

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        memory = self.model.encode(tokens, tokens != PAD)
        first = numbers_by_row(self.model.start(memory), tokens.shape[0])
        found = {**dict(named(vars(memory), "memory")), **dict(named(first, "state"))}
        return tuple(found[name] if name in found else self.no_past(name, memory) for name in self.axes)

    def no_past(self, name: str, memory: Memory) -> Tensor:
        free = {"rows": memory.mask.shape[0], "past": 0}
        return memory.annotations.new_zeros([free[axis] if isinstance(axis, str) else axis for axis in self.axes[name]])


class StepGraph(nn.Module):
    """The last token of each row, the tensors of memory and state -> log p of the next token, the next state."""

    def __init__(self, model: Seq2Seq, example: Example) -> None:
        super().__init__()
        self.model, self.example = model, example

    def forward(self, token: Tensor, tensors: list[Tensor]) -> tuple[Tensor, ...]:
        given = iter(tensors)
        memory, state = Memory(**filled(self.example.memory, given)), filled(self.example.state, given)
        hidden, state = self.model.step(token[:, None], state, memory)
        log_probs = self.model.project(hidden[:, 0]).log_softmax(-1)
        return log_probs, *(tensor for _, tensor in named(state, "state"))
