"""Constraints on the next token. Forbidden tokens get -inf after the softmax, so the others keep the model's log_prob.

These are forbidden, in this order:
never       PAD and BOS
ngrams      a token that would repeat an n-gram of the output (no_repeat_ngram)
min_length  EOS before the minimum length, except if the rule above has left no other token
prefix      every token but the next one of the prefix. It is last, so a forced token may repeat an n-gram or be EOS
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqloom.decode.options import SearchRequest
from seqloom.models.api import Memory
from seqloom.text.vocabulary import BOS, EOS, PAD

Prefixes = Sequence[Sequence[int]]  # one per sentence; an empty one forces nothing
STRUCK = float("-inf")  # log-probability of a forbidden token


@dataclass(frozen=True)
class Rules:
    """Constraints of one search. `prefix` has one row per sentence; log-probabilities have W rows per sentence."""

    min_length: int
    no_repeat_ngram: int
    prefix: Tensor  # (B, P), right-padded with PAD

    @classmethod
    def of(cls, request: SearchRequest, prefixes: Prefixes | None, memory: Memory) -> "Rules":
        rows = prefixes if prefixes is not None else [()] * len(memory.mask)
        if len(rows) != len(memory.mask):
            raise ValueError(f"{len(rows)} prefixes for {len(memory.mask)} sentences")
        longest = max(map(len, rows), default=0)
        padded = [[*row, *[PAD] * (longest - len(row))] for row in rows]
        prefix = torch.tensor(padded, dtype=torch.long, device=memory.mask.device).view(len(rows), longest)
        return cls(request.min_length, request.no_repeat_ngram, prefix)

    def select(self, rows: Tensor) -> "Rules":
        """The constraints of these sentences."""
        return replace(self, prefix=self.prefix[rows]) if self.prefix.shape[1] else self

    def strike(self, log_probs: Tensor, written: Tensor) -> Tensor:
        """Forbid tokens after `written` (R, 1 + length), which starts with BOS: changes log_probs (R,V) in place."""
        length = written.shape[1] - 1
        log_probs[:, PAD] = STRUCK
        log_probs[:, BOS] = STRUCK
        forced = self.forced(length, len(log_probs))
        own = log_probs.gather(1, forced[:, None]) if forced is not None else None
        if 0 < self.no_repeat_ngram <= length:
            strike_repeats(log_probs, written[:, 1:], self.no_repeat_ngram)
        if length < self.min_length:
            strike_end(log_probs, nothing_else=self.no_repeat_ngram > 0 and length >= log_probs.shape[1] - 3)
        if forced is not None and own is not None:
            log_probs.masked_fill_((forced != PAD)[:, None], STRUCK)
            log_probs.scatter_(1, forced[:, None], own)  # in a free row this writes PAD's -inf again
        return log_probs

    def forced(self, length: int, num_rows: int) -> Tensor | None:
        """The token that each of R rows must write next; PAD = a free row, None = all rows are free."""
        if length >= self.prefix.shape[1]:
            return None
        return self.prefix[:, length].repeat_interleave(num_rows // len(self.prefix))


def strike_repeats(log_probs: Tensor, written: Tensor, n: int) -> None:
    """Forbid the last token of each n-gram in `written` (R,L) whose first n - 1 tokens are the last of the row."""
    ngrams = written.unfold(1, n, 1)  # (R, L - n + 1, n), a view
    again = (ngrams[..., :-1] == written[:, None, written.shape[1] - n + 1 :]).all(-1)
    rows, starts = again.nonzero(as_tuple=True)
    log_probs[rows, ngrams[rows, starts, -1]] = STRUCK


def strike_end(log_probs: Tensor, nothing_else: bool) -> None:
    """Forbid EOS. If `nothing_else` may be left to write, only in rows that still have another token."""
    if not nothing_else:
        log_probs[:, EOS] = STRUCK
        return
    num_left = (log_probs != STRUCK).sum(1)
    log_probs[:, EOS].masked_fill_(num_left > 1, STRUCK)
