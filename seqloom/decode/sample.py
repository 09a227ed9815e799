"""Sampling: each token is drawn from the model's own distribution, sharpened or cut as asked.

temperature   p_i ** (1 / temperature), normalised: below 1 the likely become likelier
top_k         only the k most probable tokens                                        Fan et al. 2018
top_p         only the fewest most probable tokens that hold the share p             Holtzman et al. 2020
in this order. log_prob stays the model's own, of temperature 1 and all tokens.

Each output has random numbers of its own, one a position, which follow from the seed of its sentence and its number:
the same seed gives the same text, alone and in any batch (ties aside), and sample n is the same however many are drawn.
"""

from collections.abc import Sequence
from itertools import count

import numpy as np
import torch
from torch import Tensor

from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.decode.options import SampleOptions, SearchOptions
from seqloom.decode.rules import Prefixes, Rules
from seqloom.decode.score import log_softmax
from seqloom.models.api import Memory, Seq2Seq, select_rows
from seqloom.text.vocabulary import BOS, EOS, PAD

Seed = int | Sequence[int]


@torch.inference_mode()
def sample(
    model: Seq2Seq,
    memory: Memory,
    how: SampleOptions,
    options: SearchOptions | None = None,
    *,
    seeds: Sequence[Seed],
    prefixes: Prefixes | None = None,
) -> list[list[Hypothesis]]:
    """`how.num` outputs a sentence, in the order they are drawn; `seeds` has one a sentence.

    Of the options the lengths, no-repeat n-grams and the length penalty (for the score) hold.
    """
    options = options or SearchOptions()
    if len(memory.mask) == 0:
        return []
    rules = Rules.of(options, prefixes, memory)
    limits = options.limits(memory.mask.sum(1))
    noise = draw_noise(seeds, how.num, limits)
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    waiting = list(answers)  # those of the sentences still in the batch
    written = torch.full_like(limits, BOS)[:, None, None].repeat(1, how.num, 1)  # (B, num, 1 + length)
    log_prob = torch.zeros_like(limits, dtype=torch.float32)[:, None].repeat(1, how.num)  # (B, num)
    done = torch.zeros_like(log_prob, dtype=torch.bool)
    state = model.start(memory, how.num)
    for length in count(1):
        hidden, state = model.step(written[:, :, -1:].flatten(0, 1), state, memory)
        allowed = rules.strike(log_softmax(model.project(hidden.squeeze(1))), written.flatten(0, 1))  # (B*num, V)
        drawn = draw(allowed, noise[:, :, length - 1].flatten(), how)
        gained = allowed.gather(1, drawn[:, None]).view_as(log_prob)
        tokens = drawn.view_as(done).masked_fill(done, PAD)  # a finished one waits for the others of its sentence
        log_prob = log_prob + gained.masked_fill(done, 0)
        written = torch.cat([written, tokens[..., None]], 2)
        done = done | (tokens == EOS) | (limits <= length)[:, None]
        ready = done.all(1)
        if not ready.any():
            continue
        collect(waiting, ready, written, log_prob, options.length_penalty)
        rows = (~ready).nonzero()[:, 0]
        if len(rows) == 0:
            break
        waiting = [waiting[row] for row in rows.tolist()]
        written, log_prob, done, limits, noise = (part[rows] for part in (written, log_prob, done, limits, noise))
        every = (rows[:, None] * how.num + torch.arange(how.num, device=rows.device)).flatten()
        state, memory, rules = select_rows(state, every), memory.select(rows), rules.select(rows)
    return answers


def draw_noise(seeds: Sequence[Seed], num: int, limits: Tensor) -> Tensor:
    """Uniform numbers in [0, 1), one for each token that may be drawn: (B, num, longest limit)."""
    noise = np.zeros((len(limits), num, int(limits.max())))
    for row, (seed, limit) in enumerate(zip(seeds, limits.tolist(), strict=True)):
        noise[row, :, :limit] = np.random.default_rng(seed).random((num, limit))
    return torch.from_numpy(noise).to(limits.device)


def draw(log_probs: Tensor, noise: Tensor, how: SampleOptions) -> Tensor:
    """One token a row: the first whose cumulative probability exceeds the random number. (R,V), (R,) -> (R,)."""
    scaled = log_probs / how.temperature
    if how.top_k == 0 and how.top_p == 1:
        return pick(scaled.softmax(-1), noise)
    shares, tokens = most_probable(scaled, how)
    if how.top_p < 1:
        before = shares.cumsum(-1, dtype=torch.float64) - shares  # the share of all that are more probable
        shares = shares.masked_fill(before >= how.top_p, 0)
    return tokens.gather(1, pick(shares, noise)[:, None])[:, 0]


def most_probable(scaled: Tensor, how: SampleOptions) -> tuple[Tensor, Tensor]:
    """Shares and tokens, most probable first: the top_k, or as many as surely hold top_p. (R,V) -> (R,K) both."""
    vocab_size = scaled.shape[1]
    if how.top_k:
        ranked, tokens = scaled.topk(min(how.top_k, vocab_size))
        return ranked.softmax(-1), tokens
    shares = scaled.softmax(-1)
    for number in (64, 512):  # few hold the share as a rule, and to sort all takes longer than the model
        if number < vocab_size:
            ranked, tokens = shares.topk(number)
            if (ranked.sum(-1) > how.top_p).all():
                return ranked, tokens
    return shares.sort(descending=True)


def pick(shares: Tensor, noise: Tensor) -> Tensor:
    """The place in each row (R,K) of shares, which need not sum to 1, at which a random number (R,) falls."""
    cumulative = shares.cumsum(-1, dtype=torch.float64)  # 24 bits are too few to add up 50,000 tokens
    total = cumulative[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # a product may round to the total, behind every share
    places = torch.searchsorted(cumulative, (noise[:, None] * total).minimum(below), right=True)
    return places[:, 0].clamp(max=shares.shape[1] - 1)  # of a model that is broken, too


def collect(
    waiting: list[list[Hypothesis]], ready: Tensor, written: Tensor, log_prob: Tensor, length_penalty: float
) -> None:
    """All outputs of the sentences that are ready, without the PAD behind the shorter ones."""
    values = zip(ready.nonzero()[:, 0].tolist(), written[ready].tolist(), log_prob[ready].tolist(), strict=True)
    for row, outputs, totals in values:
        for ids, total in zip(outputs, totals, strict=True):
            waiting[row].append(finish([token for token in ids[1:] if token != PAD], total, length_penalty))
