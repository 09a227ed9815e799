"""The contract every model keeps, so that search, tasks, training and explaining never see an architecture.

    encode(tokens (B,S), mask (B,S))        -> Memory            once a sentence
    start(memory, beams)                    -> State             once a sentence; B*beams rows
    step(tokens (R,k), state, memory)       -> hidden (R,k,D), State     k = 1 while generating, k > 1 for a prefix
    hidden(tokens (B,T), memory)            -> (B,T,D)           all positions at once: teacher forcing
    project(hidden (...,D))                 -> logits (...,V)    separate: the loss projects real positions only

A reader (BERT and the like) only reads, a language model (GPT and the like) is its own encoder: see `Reader` and
`LanguageModel` below.

Memory has one row a sentence and is never copied per hypothesis: row r of the state belongs to sentence r // beams.
State is any nest (tuple, list, dict) of batch-first tensors; integers in it are shared by all rows.
Every forward takes `trace`, an optional recorder of attention weights, gates and states; nothing lands on self.
Shapes in annotations cost nothing: only the tests check them. `B={len(memory.mask)}` is a B that the memory gives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.nn.trace import Trace

State = Any


@dataclass(frozen=True)
class Memory:
    """What the encoder knows of B sentences, with what the decoder projects from it once."""

    annotations: Float[Tensor, "B S H"]
    mask: Bool[Tensor, "B S"]  # True = a real token
    last: State = None  # last states of the encoder, a nest of (B, ...)
    keys: State = None  # what the decoder precomputes once a sentence, a nest of (B, ...)

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of these sentences, in this order."""
        return Memory(*(select_rows(part, rows) for part in (self.annotations, self.mask, self.last, self.keys)))


def select_rows(state: State, rows: Int[Tensor, " R"]) -> State:
    """The same nest with these rows, in this order; what is not a tensor stays as it is."""
    return each_tensor(lambda tensor: tensor.index_select(0, rows), state)


def each_tensor(change: Callable[[Tensor], Tensor], state: State) -> State:
    """The same nest with every tensor changed, in one order always."""
    return each_leaf(lambda leaf: change(leaf) if isinstance(leaf, Tensor) else leaf, state)


def each_leaf(change: Callable[[Any], Any], state: State) -> State:
    if isinstance(state, dict):
        return {name: each_leaf(change, part) for name, part in state.items()}
    if isinstance(state, (tuple, list)):
        return type(state)(each_leaf(change, part) for part in state)
    return change(state)


class Seq2Seq(nn.Module):
    """Encoder + decoder: the shape of every model that turns one sequence into another."""

    target_vocab_size: int  # V

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        raise NotImplementedError

    def start(self, memory: Memory, beams: int = 1) -> State:
        raise NotImplementedError

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        raise NotImplementedError

    def hidden(
        self, tokens: Int[Tensor, "B={len(memory.mask)} T"], memory: Memory, trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        return self.step(tokens, self.start(memory), memory, trace)[0]

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        raise NotImplementedError


class Reader(nn.Module):
    """An encoder with something to say of what it read: classes, tags, the words that were hidden from it.

    hidden(tokens (B,S), mask (B,S)) -> (B,T,D)     T = S, or 1 where the whole text has one label
    """

    target_vocab_size: int  # V: the labels, or the words

    def hidden(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        raise NotImplementedError

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        raise NotImplementedError


class LanguageModel(Seq2Seq):
    """A decoder that is its own encoder: `encode` reads the source as the words before, `step` goes on from there.

    To generate, the source is the prompt; fine-tuned on pairs, it is what is to be translated. From nothing:
    begin(rows) -> State                                     before the first word
    read(tokens (B,T), state) -> hidden (B,T,D), State       all positions at once, from any state on
    """

    context: int  # tokens it learned to look back on; 0 = no end

    def begin(self, rows: int) -> State:
        raise NotImplementedError

    def read(
        self, tokens: Int[Tensor, "B T"], state: State, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        raise NotImplementedError
