"""Scoring of given targets by teacher forcing.

log p(y | x) = sum_t log p(y_t | y_<t, x), natural logarithm, `</s>` included

log_probs(translator, ["a cat"], ["un chat"])      -> [-1.93]
score_pairs(translator, ["a cat"], ["un chat"])    -> the same, token by token

Layout of a batch of given pairs, which word alignment uses too:
src = x1 .. xm </s>,   tgt_in = <s> y1 .. yn,   tgt_out = y1 .. yn </s>
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.decode.options import SearchRequest
from seqloom.decode.score import token_log_probs
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.runtime.engine_torch import padded
from seqloom.runtime.inputs import Warn, encode_texts
from seqloom.runtime.translator import Translator
from seqloom.text.vocabulary import BOS, EOS, PAD

MOST_TOKENS = 2048  # tokens of a batch on its longer side, including padding
MOST_LOGITS = 2**25  # logits of a batch: 128 MB, for each member of an ensemble

IdPair = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Score:
    """The log-probabilities of one target, token by token; the last token is </s>."""

    ids: list[int]
    token_log_probs: list[float]

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the probability of the whole target."""
        return math.fsum(self.token_log_probs)

    @property
    def mean(self) -> float:
        """The mean log-probability per token, which is comparable between targets of different lengths."""
        return self.log_prob / len(self.ids)


def log_probs(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    lines: Sequence[int] = (),
    warn: Warn = warnings.warn,
) -> list[float]:
    """The log-probability of each target given its source, in order; nan, and a warning, for pairs without one."""
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
    """The score of each pair, in order; None, and a warning, if the source is empty or a text is too long."""
    pairs = encode_pairs(translator, sources, targets, lines=lines, warn=warn)
    found: list[Score | None] = [None] * len(pairs)
    for batch in forced_batches(translator, pairs):
        lengths = batch.tgt_mask.sum(1).tolist()
        ids = batch.tgt_out[batch.tgt_mask].split(lengths)
        parts = forced_log_probs(translator.model, batch).split(lengths)
        for row, own_ids, part in zip(batch.rows, ids, parts, strict=True):
            found[row] = Score(own_ids.tolist(), part.tolist())
    return found


@dataclass(frozen=True)
class ForcedBatch:
    """Pairs of similar length, padded."""

    rows: list[int]  # the indices of these pairs
    src: Tensor  # (U, S), each distinct source once
    source_of: Tensor  # (B,)
    tgt_in: Tensor  # (B, T)
    tgt_out: Tensor  # (B, T)
    tgt_mask: Tensor  # (B, T)


def encode_pairs(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], *, lines: Sequence[int], warn: Warn
) -> list[IdPair | None]:
    """The ids of each pair; None, and a warning that names the line, for a pair that is too long for the model.

    A target may be as long as the longest output of a search, so that every translation can be scored. It may be
    empty; a source may not.
    """
    if len(sources) != len(targets):
        raise UsageError(f"{len(sources)} sources and {len(targets)} targets: want as many of both")
    data = translator.config.data
    lines = lines or range(1, len(sources) + 1)
    source_ids = encode_texts(sources, translator.tokenizers.source, data.normalise, lines)
    target_ids = encode_texts(targets, translator.tokenizers.target, data.normalise, lines)
    most = data.max_tokens, SearchRequest().limit(data.max_tokens + 1) - 1
    encoded: list[IdPair | None] = []
    for line, pair in zip(lines, zip(source_ids, target_ids, strict=True), strict=True):
        fault = fault_of(pair, most)
        encoded.append(None if fault else pair)
        if fault:
            warn(f"line {line}: {fault}")
    return encoded


def fault_of(pair: IdPair, most: tuple[int, int]) -> str:
    """Why the model cannot read a pair; empty if it can."""
    if not pair[0]:
        return "the source is empty"
    for side, ids, limit in zip(("source", "target"), pair, most, strict=True):
        if len(ids) > limit:
            return f"a {side} of {len(ids):,} tokens; the model can read {limit}"
    return ""


def forced_batches(translator: Translator, pairs: Sequence[IdPair | None]) -> Iterator[ForcedBatch]:
    """Batches of all pairs that are not None, sorted by length to keep padding small, and by source to encode few."""
    most = min(MOST_TOKENS, MOST_LOGITS // translator.model.target_vocab_size)
    known = {row: pair for row, pair in enumerate(pairs) if pair is not None}
    rows: list[int] = []
    longest = 0
    for row in sorted(known, key=lambda row: (len(known[row][0]), len(known[row][1]))):
        length = 1 + max(map(len, known[row]))
        longest = max(longest, length)
        if rows and longest * (len(rows) + 1) > most:
            yield make_batch(rows, known, translator.device)
            rows, longest = [], length
        rows.append(row)
    if rows:
        yield make_batch(rows, known, translator.device)


def make_batch(rows: list[int], pairs: dict[int, IdPair], device: torch.device) -> ForcedBatch:
    places: dict[tuple[int, ...], int] = {}
    source_of = [places.setdefault(tuple(pairs[row][0]), len(places)) for row in rows]
    targets = [pairs[row][1] for row in rows]
    tgt_out, tgt_mask = padded(([*ids, EOS] for ids in targets), device)
    return ForcedBatch(
        rows=rows,
        src=padded(([*ids, EOS] for ids in places), device)[0],
        source_of=torch.tensor(source_of, device=device),
        tgt_in=padded(([BOS, *ids] for ids in targets), device)[0],
        tgt_out=tgt_out,
        tgt_mask=tgt_mask,
    )


def remember(model: Seq2Seq, batch: ForcedBatch) -> Memory:
    """The memory of each pair; a source that occurs several times (n-best lists) is encoded once."""
    memory = model.encode(batch.src, batch.src != PAD)
    return memory if len(batch.src) == len(batch.rows) else memory.select(batch.source_of)


@torch.inference_mode()
def forced_log_probs(model: Seq2Seq, batch: ForcedBatch) -> Tensor:
    """log p(y_t | y_<t, x) of every real position, pair after pair: (tokens,)."""
    return token_log_probs(model, remember(model, batch), batch.tgt_in, batch.tgt_out, batch.tgt_mask)
