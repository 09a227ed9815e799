"""Shared by the tests of search: a small random model in which every mistake in bookkeeping changes the scores."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """make_model(seed, vocab=9, end=0.0, attention=True): a `Recorder`. Torch is imported when one is asked for."""
    import torch
    from torch import Tensor, nn

    from seqloom.models.api import Memory, Seq2Seq, State
    from seqloom.nn.trace import Trace
    from seqloom.text.vocabulary import EOS

    class Recorder(Seq2Seq):
        """A recurrent model in float64. Its state carries the whole past: a row out of place changes the scores."""

        def __init__(self, seed: int, vocab: int = 9, end: float = 0.0, attention: bool = True) -> None:
            super().__init__()
            torch.manual_seed(seed)
            self.target_vocab_size = vocab
            self.table = nn.Parameter(torch.randn(9, 6, dtype=torch.float64))
            self.mix = nn.Parameter(torch.randn(6, 6, dtype=torch.float64))
            self.out = nn.Parameter(1.5 * torch.randn(6, vocab, dtype=torch.float64))
            self.bias = nn.Parameter(torch.zeros(vocab, dtype=torch.float64))
            self.bias.data[EOS] = end
            self.attention = attention
            self.rows_seen: list[tuple[int, int]] = []  # (rows of memory, rows of state) at each step
            self.traced = 0

        def encode(self, tokens: Tensor, mask: Tensor, trace: Trace | None = None) -> Memory:
            annotations = self.table[tokens] * mask[..., None]
            return Memory(annotations, mask, last=annotations.sum(1))

        def start(self, memory: Memory, beams: int = 1) -> State:
            return {"h": [memory.last.repeat_interleave(beams, 0)], "position": 0}

        def step(
            self, tokens: Tensor, state: State, memory: Memory, trace: Trace | None = None
        ) -> tuple[Tensor, State]:
            self.rows_seen.append((len(memory.mask), len(tokens)))
            self.traced += trace is not None
            (h,), position = state["h"], state["position"]
            beams = len(tokens) // len(memory.mask)
            source = memory.last[torch.arange(len(tokens)) // beams]
            hidden = []
            for token in tokens.unbind(1):
                h = torch.tanh(h @ self.mix + self.table[token] + 0.3 * source + 0.1 * position)
                position += 1
                hidden.append(h)
                if trace is not None and self.attention:
                    scores = h.view(len(memory.mask), beams, -1) @ memory.annotations.transpose(1, 2)  # (B, W, S)
                    weights = scores.masked_fill(~memory.mask[:, None], -torch.inf).softmax(-1)
                    trace.record("decoder.attention", weights)
            return torch.stack(hidden, 1), {"h": [h], "position": position}

        def hidden(self, tokens: Tensor, memory: Memory, trace: Trace | None = None) -> Tensor:
            return self.step(tokens, self.start(memory), memory, trace)[0]

        def project(self, hidden: Tensor) -> Tensor:
            return hidden @ self.out + self.bias

    return Recorder


@pytest.fixture(scope="session")
def five() -> tuple[Any, Any]:
    """Tokens and mask of five sources of 3, 1, 4, 2 and 2 tokens."""
    import torch

    mask = torch.arange(4) < torch.tensor([3, 1, 4, 2, 2])[:, None]
    tokens = torch.randint(4, 9, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    return tokens, mask
