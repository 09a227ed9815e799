"""Sampling: each token is drawn from the model's distribution, after temperature, top-k and top-p, in this order.

temperature   p_i ** (1 / temperature), normalised: values below 1 favour probable tokens
top_k         only the k most probable tokens                                                   Fan et al. 2018
top_p         only the smallest set of most probable tokens with total probability p            Holtzman et al. 2020
The reported log_prob is the model's, at temperature 1 and over all tokens.

Each output has its own random numbers, one per position, which depend on the seed of its sentence and the number of the
output. So the same seed gives the same text, alone or in any batch (except for ties), and sample n does not depend on
how many are drawn.
"""

from collections.abc import Sequence
from itertools import count

import numpy as np
import torch
from torch import Tensor

from seqloom.decode.constraints import Prefixes, Rules
from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.decode.options import SearchRequest
from seqloom.decode.score import log_softmax
from seqloom.models.api import Memory, Seq2Seq, select_rows
from seqloom.text.vocabulary import BOS, EOS, PAD

Seed = int | Sequence[int]


@torch.inference_mode()
def sample(
    model: Seq2Seq,
    memory: Memory,
    request: SearchRequest,
    *,
    seeds: Sequence[Seed],
    prefixes: Prefixes | None = None,
) -> list[list[Hypothesis]]:
    """`request.sample` outputs per sentence, in the order they are drawn; `seeds` has one per sentence.

    Length limits and no-repeat n-grams apply as in a search, and so does the length penalty in the score.
    """
    request = request.filled()
    num = request.num
    if len(memory.mask) == 0:
        return []
    rules = Rules.of(request, prefixes, memory)
    limits = request.limits(memory.mask.sum(1))
    noise = draw_noise(seeds, num, limits)
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    waiting = list(answers)  # those of the sentences still in the batch
    written = torch.full_like(limits, BOS)[:, None, None].repeat(1, num, 1)  # (B, num, 1 + length)
    log_prob = torch.zeros_like(limits, dtype=torch.float32)[:, None].repeat(1, num)  # (B, num)
    done = torch.zeros_like(log_prob, dtype=torch.bool)
    state = model.start(memory, num)
    for length in count(1):
        hidden, state = model.step(written[:, :, -1:].flatten(0, 1), state, memory)
        allowed = rules.strike(log_softmax(model.project(hidden.squeeze(1))), written.flatten(0, 1))  # (B*num, V)
        drawn = draw(allowed, noise[:, :, length - 1].flatten(), request)
        gained = allowed.gather(1, drawn[:, None]).view_as(log_prob)
        tokens = drawn.view_as(done).masked_fill(done, PAD)  # finished: padded until the whole sentence is done
        log_prob = log_prob + gained.masked_fill(done, 0)
        written = torch.cat([written, tokens[..., None]], 2)
        done = done | (tokens == EOS) | (limits <= length)[:, None]
        ready = done.all(1)
        if not ready.any():
            continue
        collect(waiting, ready, written, log_prob, request.length_penalty)
        rows = (~ready).nonzero()[:, 0]
        if len(rows) == 0:
            break
        waiting = [waiting[row] for row in rows.tolist()]
        written, log_prob, done, limits, noise = (part[rows] for part in (written, log_prob, done, limits, noise))
        every = (rows[:, None] * num + torch.arange(num, device=rows.device)).flatten()
        state, memory, rules = select_rows(state, every), memory.select(rows), rules.select(rows)
    return answers


def draw_noise(seeds: Sequence[Seed], num: int, limits: Tensor) -> Tensor:
    """Uniform random numbers in [0, 1), one per token that may be drawn: (B, num, longest limit)."""
    noise = np.zeros((len(limits), num, int(limits.max())))
    for row, (seed, limit) in enumerate(zip(seeds, limits.tolist(), strict=True)):
        noise[row, :, :limit] = np.random.default_rng(seed).random((num, limit))
    return torch.from_numpy(noise).to(limits.device)


def draw(log_probs: Tensor, noise: Tensor, request: SearchRequest) -> Tensor:
    """One token per row: the first whose cumulative probability exceeds the random number. (R,V), (R,) -> (R,)."""
    scaled = log_probs / request.temperature
    if request.top_k == 0 and request.top_p == 1:
        return pick(scaled.softmax(-1), noise)
    shares, tokens = most_probable(scaled, request)
    if request.top_p < 1:
        before = shares.cumsum(-1, dtype=torch.float64) - shares  # the total share of the tokens that are more probable
        shares = shares.masked_fill(before >= request.top_p, 0)
    return tokens.gather(1, pick(shares, noise)[:, None])[:, 0]


def most_probable(scaled: Tensor, request: SearchRequest) -> tuple[Tensor, Tensor]:
    """Shares and tokens, most probable first: the top_k, or as many as surely hold top_p. (R,V) -> (R,K) both."""
    vocab_size = scaled.shape[1]
    if request.top_k:
        ranked, tokens = scaled.topk(min(request.top_k, vocab_size))
        return ranked.softmax(-1), tokens
    shares = scaled.softmax(-1)
    for number in (64, 512):  # usually a few tokens are enough for top_p; sorting all takes longer than the model
        if number < vocab_size:
            ranked, tokens = shares.topk(number)
            if (ranked.sum(-1) > request.top_p).all():
                return ranked, tokens
    return shares.sort(descending=True)


def pick(shares: Tensor, noise: Tensor) -> Tensor:
    """The column in each row (R,K) of shares, which need not sum to 1, that a random number (R,) selects."""
    cumulative = shares.cumsum(-1, dtype=torch.float64)  # float32 is too inexact for a sum over 50,000 tokens
    total = cumulative[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # the product can round to the total, past the last column
    columns = torch.searchsorted(cumulative, (noise[:, None] * total).minimum(below), right=True)
    return columns[:, 0].clamp(max=shares.shape[1] - 1)  # needed if a broken model gives nan


def collect(
    waiting: list[list[Hypothesis]], ready: Tensor, written: Tensor, log_prob: Tensor, length_penalty: float
) -> None:
    """Add all outputs of the sentences that are ready, without their padding."""
    values = zip(ready.nonzero()[:, 0].tolist(), written[ready].tolist(), log_prob[ready].tolist(), strict=True)
    for row, outputs, totals in values:
        for ids, total in zip(outputs, totals, strict=True):
            waiting[row].append(finish([token for token in ids[1:] if token != PAD], total, length_penalty))
