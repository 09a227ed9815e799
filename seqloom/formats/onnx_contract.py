"""The contract of a model as two functions of plain tensors, which can be traced into graphs.

encoder   tokens (B,S)                -> memory, first state
step      token (R,), memory, state   -> log p (R,V), next state

A nest of tensors becomes a list, each tensor under its path: `memory.keys.0.values`, `state.past.0.keys`; the model
names the parts of its tuples (`key_parts`, `state_parts`). Other values become tensors: an integer becomes one number
per row, and the missing past before the first word a tensor of length 0. To find out which axes grow with the source
and with the past, the model is run at two lengths.

Both functions can also return what a `Trace` records (attention weights, gates, states), after everything else; the
step then ends with the vector that the next token is predicted from. Such graphs compute attention by explicit
products, because a fused kernel does not return the weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seqloom.models.api import Memory, Seq2Seq, State, each_leaf, each_tensor
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD

Axes = tuple[int | str, ...]  # a number, or the name of a free length: batch, rows, source, past


def memory_tensors(model: Seq2Seq, memory: dict[str, State]) -> dict[str, Tensor]:
    """Return every tensor of a memory, given by its fields, under its path."""
    found: dict[str, Tensor] = {}
    for name, nest in memory.items():
        found.update(named(nest, f"memory.{name}", model.key_parts if name == "keys" else model.state_parts))
    return found


def state_tensors(model: Seq2Seq, state: State) -> dict[str, Tensor]:
    """Return every tensor of a state under its path."""
    return dict(named(state, "state", model.state_parts))


def named(nest: State, name: str, parts: tuple[str, ...]) -> Iterator[tuple[str, Tensor]]:
    """Yield every tensor of a nest with its path; `parts` are the names of the parts of a tuple."""
    if isinstance(nest, Tensor):
        yield name, nest
    elif isinstance(nest, dict):
        for key, part in nest.items():
            yield from named(part, f"{name}.{key}", parts)
    elif isinstance(nest, (tuple, list)):
        for key, part in zip(parts if isinstance(nest, tuple) else range(len(nest)), nest, strict=True):
            yield from named(part, f"{name}.{key}", parts)


def filled(like: State, tensors: Iterator[Tensor]) -> State:
    """Return a nest like this one, filled with these tensors in order."""
    return each_tensor(lambda _: next(tensors), like)


def numbers_by_row(state: State, rows: int) -> State:
    """Repeat the numbers that all rows share, once per row."""
    return each_leaf(lambda leaf: torch.full((rows,), leaf) if isinstance(leaf, int) else leaf, state)


@dataclass(frozen=True)
class Example:
    """Example inputs and outputs of the two functions; every axis has its own length, so that axes are distinct."""

    tokens: Tensor  # (B, S)
    token: Tensor  # (R,)
    memory: dict[str, State]
    state: State  # after a few words
    tensors: dict[str, Tensor]  # of memory and state, by path

    @classmethod
    def of(cls, model: Seq2Seq, longer: int = 0) -> "Example":
        sentences, beams, source, past = 2, 3, 5 + longer, 4 + longer
        tokens, token = torch.full((sentences, source), EOS), torch.full((sentences * beams,), BOS)
        memory = model.encode(tokens, tokens != PAD)
        state = numbers_by_row(model.start(memory, beams), len(token))
        for _ in range(past):
            _, state = model.step(token[:, None], state, memory)
        tensors = memory_tensors(model, vars(memory)) | state_tensors(model, state)
        return cls(tokens, token, vars(memory), state, tensors)

    def axes(self, longer: "Example") -> dict[str, Axes]:
        """Name each axis: those that are longer in an example with a longer source and past are free."""
        found = {}
        for (name, small), large in zip(self.tensors.items(), longer.tensors.values(), strict=True):
            first, grows = ("batch", "source") if name.startswith("memory.") else ("rows", "past")
            rest = zip(small.shape[1:], large.shape[1:], strict=True)
            found[name] = (first, *(grows if a != b else a for a, b in rest))
        return found


class EncoderGraph(nn.Module):
    """tokens -> the tensors of the memory, then those of the first state: one hypothesis per sentence."""

    def __init__(self, model: Seq2Seq, axes: dict[str, Axes], recorded: Sequence[str] = ()) -> None:
        super().__init__()
        self.model, self.axes, self.recorded = model, axes, recorded

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        trace = Trace() if self.recorded else None
        memory = self.model.encode(tokens, tokens != PAD, trace)
        first = numbers_by_row(self.model.start(memory), tokens.shape[0])
        found = memory_tensors(self.model, vars(memory)) | state_tensors(self.model, first)
        made = (found[name] if name in found else self.no_past(name, memory) for name in self.axes)
        return *made, *last_recordings(trace, self.recorded)

    def no_past(self, name: str, memory: Memory) -> Tensor:
        free = {"rows": memory.mask.shape[0], "past": 0}
        return memory.annotations.new_zeros([free[axis] if isinstance(axis, str) else axis for axis in self.axes[name]])


HIDDEN = "decoder.hidden"  # the name of the vector that the next token is predicted from, among the recordings


class StepGraph(nn.Module):
    """The last token of each row, the tensors of memory and state -> log p of the next token, the next state."""

    def __init__(self, model: Seq2Seq, example: Example, recorded: Sequence[str] = ()) -> None:
        super().__init__()
        self.model, self.example, self.recorded = model, example, recorded

    def forward(self, token: Tensor, tensors: list[Tensor]) -> tuple[Tensor, ...]:
        given = iter(tensors)
        memory, state = Memory(**filled(self.example.memory, given)), filled(self.example.state, given)
        trace = Trace() if self.recorded else None
        hidden, state = self.model.step(token[:, None], state, memory, trace)
        log_probs = self.model.project(hidden[:, 0]).log_softmax(-1)
        found = [log_probs, *state_tensors(self.model, state).values(), *last_recordings(trace, self.recorded)]
        return *found, *([hidden[:, 0]] if self.recorded else [])


def last_recordings(trace: Trace | None, names: Sequence[str]) -> Iterator[Tensor]:
    """Yield the last recording of each of these names."""
    return (trace[name][-1] for name in names) if trace is not None else iter(())


def recordings(model: Seq2Seq) -> tuple[list[str], list[str]]:
    """Name what encoder and decoder record."""
    tokens = torch.full((1, 2), EOS)
    encoder, decoder = Trace(), Trace()
    memory = model.encode(tokens, tokens != PAD, encoder)
    model.step(torch.full((1, 1), BOS), model.start(memory), memory, decoder)
    return encoder.names(), decoder.names()
