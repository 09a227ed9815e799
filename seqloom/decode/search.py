"""Greedy and beam search over a whole batch, through the contract of `models.api` only.

The rules, written once. They are those of CTranslate2 4.8 (`min_decoding_length=0`), so that both engines answer alike:

candidates  Each step ranks the W*V continuations of a sentence's W live hypotheses by summed log-probability and looks
            at the best 2W. In the first step there is one live hypothesis: BOS.
end         An EOS among the first W of them finishes its hypothesis; an EOS further down is dropped.
            The first W without EOS live on (there are always W: at most one EOS a live hypothesis).
score       log_prob / length ** length_penalty, the EOS counted in both.
stop        A sentence is done when it has W finished hypotheses. Without a length penalty it is done as soon as the
            best candidate of some step was an EOS and there are n_best hypotheses: none that lives can overtake.
limit       max_length steps, 2 x source length (its EOS counted) + 50 unless given. At the last one the first W
            candidates are finished as they are, EOS or not (`ended` tells).
answer      The n_best by score. Ties go to what finished first.
tokens      PAD and BOS are never written; UNK is an ordinary token. They are struck out after the softmax, so that each
            log_prob is the model's own: what `decode.score` gives for the same tokens.

Row r of the state is hypothesis r % W of sentence r // W. Memory keeps one row a sentence; sentences that are done
leave both. An ensemble needs no change here: a Seq2Seq whose `project` returns log-probabilities (log_softmax leaves
those as they are). Put the model in eval mode first: dropout would make the answers random.
"""

from dataclasses import dataclass, field
from itertools import count

import torch
from torch import Tensor

from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq, select_rows
from seqloom.text.vocabulary import BOS, EOS, PAD


@torch.inference_mode()
def search(
    model: Seq2Seq,
    memory: Memory,
    *,
    beam: int = 5,
    n_best: int = 1,
    length_penalty: float = 1.0,
    max_length: int | None = None,
) -> list[list[Hypothesis]]:
    """The n_best outputs for each sentence of the memory, best first."""
    if not 1 <= n_best <= beam:
        raise UsageError(f"beam = {beam}, n_best = {n_best}: want 1 <= n_best <= beam; raise the beam or lower n_best")
    if max_length is not None and max_length < 1:
        raise UsageError(f"max_length = {max_length}: want at least 1 token")
    if len(memory.mask) == 0:
        return []
    source_lengths = memory.mask.sum(1)
    limits = 2 * source_lengths + 50 if max_length is None else torch.full_like(source_lengths, max_length)
    if beam == 1:
        return greedy_search(model, memory, limits, length_penalty)
    return beam_search(model, memory, limits, beam, n_best, length_penalty)


def next_log_probs(model: Seq2Seq, hidden: Tensor) -> Tensor:
    """log p(token | what is written), -inf for tokens that are never written: (R,1,D) -> (R,V)."""
    logits = model.project(hidden.squeeze(1))
    log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    log_probs[:, [PAD, BOS]] = float("-inf")
    return log_probs


def greedy_search(model: Seq2Seq, memory: Memory, limits: Tensor, length_penalty: float) -> list[list[Hypothesis]]:
    """Beam search with W = 1, without candidates and reordering: always the most probable token."""
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    waiting = list(answers)  # those of the sentences still in the batch, row by row
    written = torch.full_like(limits, BOS)[:, None]  # (B, 1 + length)
    log_prob = torch.zeros_like(limits, dtype=torch.float32)  # (B,)
    state = model.start(memory, 1)
    for length in count(1):
        hidden, state = model.step(written[:, -1:], state, memory)
        best_log_prob, best = next_log_probs(model, hidden).max(-1)  # (B,)
        log_prob = log_prob + best_log_prob
        written = torch.cat([written, best[:, None]], 1)
        done = (best == EOS) | (limits <= length)
        if not done.any():
            continue
        ended = zip(done.nonzero()[:, 0].tolist(), written[done].tolist(), log_prob[done].tolist(), strict=True)
        for row, ids, total in ended:
            waiting[row].append(finish(ids[1:], total, length_penalty))
        rows = (~done).nonzero()[:, 0]
        if len(rows) == 0:
            break
        waiting = [waiting[row] for row in rows.tolist()]
        written, log_prob, limits = written[rows], log_prob[rows], limits[rows]
        state, memory = select_rows(state, rows), memory.select(rows)
    return answers


@dataclass
class Pool:
    """What one sentence has finished so far."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    best_ended: bool = False  # the best candidate of some step was an EOS

    def is_full(self, beam: int, n_best: int, length_penalty: float) -> bool:
        if length_penalty == 0:
            return self.best_ended and len(self.hypotheses) >= n_best
        return len(self.hypotheses) >= beam

    def best(self, n_best: int) -> list[Hypothesis]:
        return sorted(self.hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best]


def beam_search(
    model: Seq2Seq, memory: Memory, limits: Tensor, beam: int, n_best: int, length_penalty: float
) -> list[list[Hypothesis]]:
    """The rules at the top of this file, for all sentences at once."""
    answers = [Pool() for _ in limits]
    pools = list(answers)  # those of the sentences still in the batch, row by row
    written = torch.full_like(limits, BOS)[:, None, None].expand(-1, beam, -1)  # (B, W, 1 + length)
    log_prob = torch.zeros_like(limits, dtype=torch.float32)[:, None].repeat(1, beam)  # (B, W)
    log_prob[:, 1:] = float("-inf")  # one live hypothesis: W times BOS would be W times the same
    state = model.start(memory, beam)
    for length in count(1):
        hidden, state = model.step(written[:, :, -1:].flatten(0, 1), state, memory)
        log_prob, parents, tokens = best_candidates(log_prob, next_log_probs(model, hidden))  # (B, 2W) each
        written = torch.cat([written.take_along_dim(parents[..., None], 1), tokens[..., None]], 2)
        is_last = limits <= length
        ends = (tokens == EOS) | is_last[:, None]
        finished = (ends & (log_prob != float("-inf")))[:, :beam]  # a tiny vocabulary has fewer than 2W candidates
        going_on = ~is_last
        if finished.any():
            collect(pools, finished, written, log_prob, length_penalty)
            full = [pool.is_full(beam, n_best, length_penalty) for pool in pools]
            going_on &= ~torch.tensor(full, device=limits.device)
        alive = ends.int().argsort(stable=True)[:, :beam]  # the first W without EOS
        written, log_prob = written.take_along_dim(alive[..., None], 1), log_prob.take_along_dim(alive, 1)
        parents = parents.take_along_dim(alive, 1)
        rows = going_on.nonzero()[:, 0]
        if len(rows) == 0:
            break
        if len(rows) < len(pools):
            pools = [pools[row] for row in rows.tolist()]
            written, log_prob, parents, limits = written[rows], log_prob[rows], parents[rows], limits[rows]
            memory = memory.select(rows)
        state = select_rows(state, (rows[:, None] * beam + parents).flatten())
    return [pool.best(n_best) for pool in answers]


def best_candidates(log_prob: Tensor, next_log_prob: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best 2W of W*V continuations: log-probabilities (B,W) and (B*W,V) -> log_prob, parent, token, each (B,2W)."""
    beam, vocab_size = log_prob.shape[1], next_log_prob.shape[1]
    continuations = next_log_prob.add_(log_prob.view(-1, 1))  # in place: it is the largest tensor of a step
    best, places = continuations.view(-1, beam * vocab_size).topk(2 * beam)
    return best, places // vocab_size, places % vocab_size


def collect(pools: list[Pool], finished: Tensor, written: Tensor, log_prob: Tensor, length_penalty: float) -> None:
    """Put the finished candidates (B,W) into the pools of their sentences, best first."""
    ends = finished.nonzero()
    row_ids, ranks = ends.unbind(1)
    values = zip(ends.tolist(), written[row_ids, ranks].tolist(), log_prob[row_ids, ranks].tolist(), strict=True)
    for (row, rank), ids, total in values:
        pools[row].hypotheses.append(finish(ids[1:], total, length_penalty))
        pools[row].best_ended |= rank == 0
