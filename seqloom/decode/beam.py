"""Beam search for all sentences of a batch at once; `decode/search.py` states its rules.

Each step prunes the hypotheses of a sentence to the best W. Row r of the state is hypothesis r % W of sentence r // W.
Memory has one row per sentence. Sentences that are done are removed from both.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import torch
from torch import Tensor

from seqloom.decode.constraints import STRUCK, Rules
from seqloom.decode.coverage import Coverage
from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.decode.options import SearchRequest
from seqloom.decode.score import log_softmax
from seqloom.models.api import Memory, Seq2Seq, State, select_rows
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS


@dataclass
class Pool:
    """Finished hypotheses of one sentence."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    best_ended: bool = False  # the best candidate of some step was an EOS

    def is_full(self, request: SearchRequest) -> bool:
        if request.length_penalty == 0 and request.coverage_penalty == 0:
            return self.best_ended and len(self.hypotheses) >= request.num
        return len(self.hypotheses) >= request.beam

    def best(self, num: int) -> list[Hypothesis]:
        return sorted(self.hypotheses, key=lambda hypothesis: -hypothesis.score)[:num]


class Watcher(Protocol):
    """Sees every step of a search: the 2W candidates of each sentence (B,2W), best first, and what became of them."""

    def step(self, log_prob: Tensor, parents: Tensor, tokens: Tensor, finished: Tensor, alive: Tensor) -> None:
        """`finished` (B,W): which of the first W ended; `alive` (B,W): the candidates that stay, by their index."""


def beam_search(
    model: Seq2Seq,
    memory: Memory,
    limits: Tensor,
    request: SearchRequest,
    rules: Rules,
    watcher: Watcher | None = None,
) -> list[list[Hypothesis]]:
    """The best `request.num` outputs of each sentence, best first; `limits` (B,) is the most tokens each may have."""
    beam = request.beam
    answers = [Pool() for _ in limits]
    pools = list(answers)  # only those of the sentences still in the batch, row by row
    written = torch.full_like(limits, BOS)[:, None, None].repeat(1, beam, 1)  # (B, W, 1 + length)
    log_prob = torch.zeros_like(limits, dtype=torch.float32)[:, None].repeat(1, beam)  # (B, W)
    log_prob[:, 1:] = STRUCK  # one live hypothesis: W times BOS would be W times the same
    coverage = Coverage(request.coverage_penalty, memory, beam) if request.coverage_penalty else None
    state = model.start(memory, beam)
    for length in count(1):
        log_probs, state = look_ahead(model, written.flatten(0, 1), state, memory, coverage)
        log_prob, parents, tokens = best_candidates(log_prob, rules.strike(log_probs, written.flatten(0, 1)))
        written = torch.cat([written.take_along_dim(parents[..., None], 1), tokens[..., None]], 2)  # (B, 2W, ...)
        is_last = limits <= length
        ends = (tokens == EOS) | is_last[:, None]
        finished = (ends & (log_prob != STRUCK))[:, :beam]  # forbidden tokens can be among the 2W candidates
        going_on = ~is_last
        if finished.any():
            penalty = coverage.penalty().take_along_dim(parents, 1) if coverage is not None else None
            collect(pools, finished, written, log_prob, penalty, request.length_penalty)
            going_on &= ~torch.tensor([pool.is_full(request) for pool in pools], device=limits.device)
        alive = ends.int().argsort(stable=True)[:, :beam]  # the first W without EOS
        if watcher is not None:
            watcher.step(log_prob, parents, tokens, finished, alive)
        written, log_prob = written.take_along_dim(alive[..., None], 1), log_prob.take_along_dim(alive, 1)
        parents = parents.take_along_dim(alive, 1)
        going_on &= log_prob[:, 0] != STRUCK  # constraints can forbid every token but EOS
        rows = going_on.nonzero()[:, 0]
        if len(rows) == 0:
            break
        if len(rows) < len(pools):
            pools = [pools[row] for row in rows.tolist()]
            written, log_prob, parents, limits = written[rows], log_prob[rows], parents[rows], limits[rows]
            memory, rules = memory.select(rows), rules.select(rows)
        if coverage is not None:
            coverage.select(rows, parents)
        state = select_rows(state, (rows[:, None] * beam + parents).flatten())
    return [pool.best(request.num) for pool in answers]


def look_ahead(
    model: Seq2Seq, written: Tensor, state: State, memory: Memory, coverage: Coverage | None
) -> tuple[Tensor, State]:
    """log p of the next token for each row of `written` (R, 1 + length): (R, V); adds the attention to the coverage."""
    trace = Trace() if coverage is not None else None
    hidden, state = model.step(written[:, -1:], state, memory, trace)
    if coverage is not None and trace is not None:
        coverage.add(trace)
    return log_softmax(model.project(hidden.squeeze(1))), state


def best_candidates(log_prob: Tensor, next_log_prob: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best 2W of W*V continuations: log-probabilities (B,W) and (B*W,V) -> log_prob, parent, token, each (B,2W)."""
    beam, vocab_size = log_prob.shape[1], next_log_prob.shape[1]
    continuations = next_log_prob.add_(log_prob.view(-1, 1))  # in place: it is the largest tensor of a step
    best, index = continuations.view(-1, beam * vocab_size).topk(2 * beam)
    return best, index // vocab_size, index % vocab_size


def collect(
    pools: list[Pool],
    finished: Tensor,
    written: Tensor,
    log_prob: Tensor,
    penalty: Tensor | None,
    length_penalty: float,
) -> None:
    """Put the finished candidates (B,W) into the pools of their sentences, best first."""
    ends = finished.nonzero()
    index = ends.unbind(1)
    penalties = penalty[index].tolist() if penalty is not None else [0.0] * len(ends)
    values = zip(ends.tolist(), written[index].tolist(), log_prob[index].tolist(), penalties, strict=True)
    for (row, rank), ids, total, uncovered in values:
        pools[row].hypotheses.append(finish(ids[1:], total, length_penalty, uncovered))
        pools[row].best_ended |= rank == 0
