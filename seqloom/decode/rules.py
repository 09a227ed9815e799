"""What may be written next. The rest is struck out (-inf) after the softmax, so that each log_prob is the model's own.

never       PAD and BOS
ngrams      a token that would complete a group of n tokens which stands in the output already
min_length  EOS before there are that many tokens. It gives way where the rule above has left nothing else
prefix      every token but the next one of the prefix. It comes last: what is forced may repeat and may end
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqloom.decode.options import SearchOptions
from seqloom.models.api import Memory
from seqloom.text.vocabulary import BOS, EOS, PAD

Prefixes = Sequence[Sequence[int]]  # one a sentence; the empty one forces nothing
STRUCK = float("-inf")


@dataclass(frozen=True)
class Rules:
    """The rules of one search. `prefix` has a row a sentence; rows of log-probabilities come W a sentence."""

    min_length: int
    no_repeat_ngram: int
    prefix: Tensor  # (B, P), PAD behind the shorter ones

    @classmethod
    def of(cls, options: SearchOptions, prefixes: Prefixes | None, memory: Memory) -> "Rules":
        rows = prefixes if prefixes is not None else [()] * len(memory.mask)
        if len(rows) != len(memory.mask):
            raise ValueError(f"{len(rows)} prefixes for {len(memory.mask)} sentences")
        longest = max(map(len, rows), default=0)
        padded = [[*row, *[PAD] * (longest - len(row))] for row in rows]
        prefix = torch.tensor(padded, dtype=torch.long, device=memory.mask.device).view(len(rows), longest)
        return cls(options.min_length, options.no_repeat_ngram, prefix)

    def select(self, rows: Tensor) -> "Rules":
        """Those of these sentences."""
        return replace(self, prefix=self.prefix[rows]) if self.prefix.shape[1] else self

    def strike(self, log_probs: Tensor, written: Tensor) -> Tensor:
        """(R,V) log-probabilities, changed in place, of what follows `written` (R, 1 + length), BOS first."""
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
            log_probs.scatter_(1, forced[:, None], own)  # a free row gets PAD's own -inf back
        return log_probs

    def forced(self, length: int, num_rows: int) -> Tensor | None:
        """The token that each of R rows must write now, PAD where it is free; None where all are."""
        if length >= self.prefix.shape[1]:
            return None
        return self.prefix[:, length].repeat_interleave(num_rows // len(self.prefix))


def strike_repeats(log_probs: Tensor, written: Tensor, n: int) -> None:
    """Strike the last token of each group of n in `written` (R,L) whose first n - 1 are the last n - 1 of the row."""
    groups = written.unfold(1, n, 1)  # (R, L - n + 1, n), a view
    again = (groups[..., :-1] == written[:, None, written.shape[1] - n + 1 :]).all(-1)
    rows, places = again.nonzero(as_tuple=True)
    log_probs[rows, groups[rows, places, -1]] = STRUCK


def strike_end(log_probs: Tensor, nothing_else: bool) -> None:
    """Strike EOS; where perhaps `nothing_else` is left, only in rows that have another token."""
    if not nothing_else:
        log_probs[:, EOS] = STRUCK
        return
    num_left = (log_probs != STRUCK).sum(1)
    log_probs[:, EOS].masked_fill_(num_left > 1, STRUCK)
