"""How probable given targets are:  log p(y | x) = sum_t log p(y_t | y_<t, x), natural log, `</s>` included.

log_probs(translator, ["a cat"], ["un chat"])      -> [-1.93]
score_pairs(translator, ["a cat"], ["un chat"])    -> the same, token by token
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from seqloom.runtime.inputs import Warn
from seqloom.runtime.teacher_forcing import encode_pairs, forced_batches, forced_log_probs
from seqloom.runtime.translator import Translator


@dataclass(frozen=True, slots=True)
class Score:
    """One target, token by token; the last token is </s>."""

    ids: list[int]
    token_log_probs: list[float]

    @property
    def log_prob(self) -> float:
        return math.fsum(self.token_log_probs)

    @property
    def mean(self) -> float:
        """Of a token: what makes targets of different length comparable."""
        return self.log_prob / len(self.ids)


def log_probs(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    lines: Sequence[int] = (),
    warn: Warn = warnings.warn,
) -> list[float]:
    """The log-probability of each target given its source, in order; nan, and a warning, where there is none."""
    scores = score_pairs(translator, sources, targets, lines=lines, warn=warn)
    return [math.nan if score is None else score.log_prob for score in scores]


def score_pairs(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    lines: Sequence[int] = (),
    warn: Warn = warnings.warn,
) -> list[Score | None]:
    """In order; None, and a warning, for an empty source and for a text that the model cannot take in one piece."""
    pairs = encode_pairs(translator, sources, targets, lines=lines, warn=warn)
    found: list[Score | None] = [None] * len(pairs)
    for batch in forced_batches(translator, pairs):
        lengths = batch.tgt_mask.sum(1).tolist()
        ids = batch.tgt_out[batch.tgt_mask].split(lengths)
        parts = forced_log_probs(translator.model, batch).split(lengths)
        for row, own_ids, part in zip(batch.rows, ids, parts, strict=True):
            found[row] = Score(own_ids.tolist(), part.tolist())
    return found
