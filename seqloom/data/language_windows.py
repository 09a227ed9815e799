"""Running text as one stream of tokens, cut into windows.

    stream    EOS  line 1  EOS  line 2  EOS ...       EOS stands for the line end; the first one is before the text
                                                      (an imported tokenizer may have a line end of its own)
    inputs    s_i .. s_{i+w-1}                        what is read
    targets   s_{i+1} .. s_{i+w}                      what comes next: every token of the text is one once

What is cut depends on nothing but (seed, epoch):
    apart      windows in any order, from a random first token on: each is read from nothing (a GPT)
    lanes      B long pieces side by side, window after window: the state is carried along each (a recurrent network)
    in order   from the first token to the last, none left out: to measure
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data.store import Store
from seqloom.errors import UsageError
from seqloom.text.vocabulary import EOS

LINES_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Windows:
    """A batch: B windows of T tokens."""

    inputs: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64
    fresh: bool  # starts with an empty state; else with that at the end of the window before

    def to(self, device: torch.device | str) -> "Windows":
        return Windows(self.inputs.to(device), self.targets.to(device), self.fresh)


@dataclass(frozen=True)
class Cut:
    """Where the windows of a batch start in the stream."""

    starts: NDArray[np.int64]  # (B,)
    length: int  # T
    fresh: bool = True


def cut_apart(num_tokens: int, window: int, rows: int, random: np.random.Generator) -> list[Cut]:
    """Cut shuffled windows of equal length. Tokens that do not fill a window or a batch are left for another epoch."""
    if num_tokens <= window:
        return [Cut(np.zeros(1, np.int64), num_tokens)]
    phase = random.integers(min(window, num_tokens - window + 1))
    starts = random.permutation(np.arange(phase, num_tokens - window + 1, window))
    full = max(1, len(starts) // rows)
    return [Cut(batch, window) for batch in np.split(starts[: full * rows], range(rows, full * rows, rows))]


def cut_lanes(num_tokens: int, window: int, rows: int, random: np.random.Generator | None) -> list[Cut]:
    """Lanes of equal length; by `random` they begin later and lose their last tokens, without it nothing is lost.

    Each lane begins from nothing: fast, and what a validation in training reads. One row carries the state through.
    """
    rows = min(rows, max(1, num_tokens // window))
    phase = int(random.integers(min(window, num_tokens // rows))) if random else 0
    length = (num_tokens - phase) // rows
    lanes = phase + length * np.arange(rows)
    cuts = along(lanes, length, window)
    end = phase + length * rows
    return cuts if random else cuts + along(np.array([end]), num_tokens - end, window)


def along(lanes: NDArray[np.int64], length: int, window: int) -> list[Cut]:
    """Cut each lane into consecutive windows; the first starts with an empty state, the last may be shorter."""
    return [Cut(lanes + place, min(window, length - place), place == 0) for place in range(0, length, window)]


def cut_in_order(num_tokens: int, window: int, rows: int, stride: int) -> list[Cut]:
    """Cut windows that start every `stride` tokens, to the end of the text; the last one may be shorter."""
    starts = np.arange(0, max(1, num_tokens - window + stride), stride)
    full = starts[starts + window <= num_tokens]
    cuts = [Cut(full[place : place + rows], window) for place in range(0, len(full), rows)]
    return cuts + [Cut(starts[-1:], num_tokens - int(starts[-1]))] * (len(full) < len(starts))


class StreamBatches:
    """Epochs of batches of one text, as the loop needs them. Without a seed, epoch 0 reads all of it in order."""

    def __init__(self, stream: NDArray[Any], window: int, rows: int, *, carries: bool, seed: int | None) -> None:
        self.stream, self.window, self.rows, self.carries, self.seed = stream, window, rows, carries, seed

    def epoch(self, number: int) -> list[Cut]:
        num_tokens, random = len(self.stream) - 1, None
        if self.seed is not None:
            random = np.random.default_rng([self.seed, number])
        if self.carries:
            return cut_lanes(num_tokens, self.window, self.rows, random)
        if random:
            return cut_apart(num_tokens, self.window, self.rows, random)
        return cut_in_order(num_tokens, self.window, self.rows, self.window)

    def load(self, cut: Cut) -> Windows:
        places = cut.starts[:, None] + np.arange(cut.length + 1)
        tokens = torch.from_numpy(self.stream[places].astype(np.int64))  # (B, T + 1)
        return Windows(tokens[:, :-1], tokens[:, 1:], cut.fresh)

    def where(self, cut: Cut) -> list[str]:
        return [f"tokens {start + 1} to {start + cut.length}" for start in cut.starts.tolist()]


class StoredText(StreamBatches):
    """The text of a store: the training part in random order, the validation part in its own."""

    def __init__(self, store: Store, window: int, batch_tokens: int, *, carries: bool, seed: int) -> None:
        if any(weight != 1 for weight in store.weights):
            raise UsageError("--mix FILE:WEIGHT: running text is read once per epoch; leave the weight out")
        self.store = store
        self.ends = np.cumsum(store.source_lengths.astype(np.int64) + 1)  # where the end of each line is
        rows = max(1, batch_tokens // window)
        in_order = store.part == "valid"
        super().__init__(self.read(), window, rows, carries=carries, seed=None if in_order else seed)

    def read(self) -> NDArray[Any]:
        first = self.store.take("source", np.arange(0))[0]  # empty, of the type of all ids
        stream = np.full(int(self.ends[-1]) + 1, self.store.line_end, first.dtype)
        stream[0] = EOS
        for begin in range(0, len(self.ends), LINES_AT_ONCE):
            lines = np.arange(begin, min(begin + LINES_AT_ONCE, len(self.ends)))
            ids, lengths = self.store.take("source", lines)
            after = int(self.ends[lines[0]] - lengths[0])
            is_word = np.ones(int(self.ends[lines[-1]]) + 1 - after, bool)
            is_word[self.ends[lines] - after] = False
            stream[after : after + len(is_word)][is_word] = ids
        return stream

    def where(self, cut: Cut) -> list[str]:
        """Return `file:line` of the line in which each window starts."""
        return [self.store.where(int(line)) for line in np.searchsorted(self.ends, cut.starts + 1)]


def as_stream(lines: Sequence[Sequence[int]], line_end: int = EOS) -> NDArray[np.int64]:
    """Join lines of ids into one stream."""
    return np.array([EOS, *(token for line in lines for token in (*line, line_end))], np.int64)
