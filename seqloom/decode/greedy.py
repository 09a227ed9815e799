"""Greedy search: each step takes the most probable token."""

from itertools import count

import torch
from torch import Tensor

from seqloom.decode.constraints import Rules
from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.decode.score import log_softmax
from seqloom.models.api import Memory, Seq2Seq, select_rows
from seqloom.text.vocabulary import BOS, EOS


def greedy_search(
    model: Seq2Seq, memory: Memory, limits: Tensor, length_penalty: float, rules: Rules
) -> list[list[Hypothesis]]:
    """Greedy search for all sentences of a batch: beam search with W = 1, without candidates and reordering."""
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    waiting = list(answers)  # only those of the sentences still in the batch, row by row
    written = torch.full_like(limits, BOS)[:, None]  # (B, 1 + length)
    log_prob = torch.zeros_like(limits, dtype=torch.float32)  # (B,)
    state = model.start(memory, 1)
    for length in count(1):
        hidden, state = model.step(written[:, -1:], state, memory)
        allowed = rules.strike(log_softmax(model.project(hidden.squeeze(1))), written)
        best_log_prob, best = allowed.max(-1)  # (B,)
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
        state, memory, rules = select_rows(state, rows), memory.select(rows), rules.select(rows)
    return answers
