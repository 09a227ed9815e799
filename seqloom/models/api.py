"""The contract of all models: search, tasks, training and explain use these functions and know no architecture.

    encode(tokens (B,S), mask (B,S))        -> Memory            once per sentence
    start(memory, beams)                    -> State             once per sentence; B*beams rows
    step(tokens (R,k), state, memory)       -> hidden (R,k,D), State     k = 1 while generating, k > 1 for a prefix
    hidden(tokens (B,T), memory)            -> (B,T,D)           all positions at once: teacher forcing
    project(hidden (...,D))                 -> logits (...,V)    separate: the loss projects real positions only

A reader is an encoder without a decoder (BERT); a language model is a decoder without an encoder (GPT): see `Reader`
and `LanguageModel` below.

Memory has one row per sentence and is never copied per hypothesis: row r of the state belongs to sentence r // beams.
State is what the decoder carries from step to step: the states of recurrent cells, or a Transformer's key/value cache.
It is any nest (tuple, list, dict) of batch-first tensors; integers in it are shared by all rows.
Every forward takes `trace`, an optional recorder of attention weights, gates and states; none are stored on self.
Shapes in annotations cost nothing: only the tests check them. `B={len(memory.mask)}` takes B from the memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.nn.embed import Output
from seqloom.nn.trace import Trace

State = Any


@dataclass(frozen=True)
class Memory:
    """Output of the encoder for B sentences, with the keys and values that the decoder computes from it once."""

    annotations: Float[Tensor, "B S H"]
    mask: Bool[Tensor, "B S"]  # True = a real token
    last: State = None  # last states of the encoder, a nest of (B, ...)
    keys: State = None  # keys and values for attention to the source, once per sentence; a nest of (B, ...)

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of these sentences, in this order."""
        return Memory(*(select_rows(part, rows) for part in (self.annotations, self.mask, self.last, self.keys)))


def select_rows(state: State, rows: Int[Tensor, " R"]) -> State:
    """The same nest with these rows of every tensor, in this order; other values are unchanged."""
    return each_tensor(lambda tensor: tensor.index_select(0, rows), state)


def each_tensor(change: Callable[[Tensor], Tensor], state: State) -> State:
    """The same nest with `change` applied to every tensor, always in the same order."""
    return each_leaf(lambda leaf: change(leaf) if isinstance(leaf, Tensor) else leaf, state)


def each_leaf(change: Callable[[Any], Any], state: State) -> State:
    """The same nest with `change` applied to every leaf."""
    if isinstance(state, dict):
        return {name: each_leaf(change, part) for name, part in state.items()}
    if isinstance(state, (tuple, list)):
        return type(state)(each_leaf(change, part) for part in state)
    return change(state)


class Seq2Seq(nn.Module):
    """Encoder-decoder: base class of every model that turns one sequence into another."""

    target_vocab_size: int  # V
    output: nn.Linear | Output
    key_parts: tuple[str, ...] = ("keys", "values")  # what each tuple in Memory.keys holds, by name
    state_parts: tuple[str, ...] = ("keys", "values")  # what each tuple in a State, and in Memory.last, holds

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        """Read the sources; mask is the padding mask, True = a real token."""
        raise NotImplementedError

    def start(self, memory: Memory, beams: int = 1) -> State:
        """The decoder's state before the start token (BOS), `beams` rows per sentence."""
        raise NotImplementedError

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Read k more target tokens per row; returns the hidden vector of each and the new state."""
        raise NotImplementedError

    def hidden(
        self, tokens: Int[Tensor, "B={len(memory.mask)} T"], memory: Memory, trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        """Teacher forcing: all positions of a given target at once."""
        return self.step(tokens, self.start(memory), memory, trace)[0]

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        return self.output(hidden)


class Reader(nn.Module):
    """Encoder-only model: predicts a class for the text, a tag per word, or the masked words.

    hidden(tokens (B,S), mask (B,S)) -> (B,T,D)     T = S, or 1 where the whole text has one label
    """

    target_vocab_size: int  # V: labels, or tokens of the vocabulary
    output: nn.Linear | Output

    def hidden(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        raise NotImplementedError

    def before_output(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch E"]:
        """The vectors that the output layer multiplies."""
        return hidden

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        return self.output(self.before_output(hidden))


class LanguageModel(Seq2Seq):
    """Decoder-only model: `encode` reads the source as a prompt, `step` continues from there.

    When generating text the source is the prompt; after fine-tuning on pairs it is the text to translate. Without one:
    begin(rows) -> State                                     before the first word
    read(tokens (B,T), state) -> hidden (B,T,D), State       all positions at once, continuing from any state
    """

    context: int  # length in tokens of the context it was trained with; 0 = unlimited

    def begin(self, rows: int) -> State:
        raise NotImplementedError

    def read(
        self, tokens: Int[Tensor, "B T"], state: State, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        raise NotImplementedError
