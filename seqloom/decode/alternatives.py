"""Diverse alternatives: the N most probable next tokens, each completed by its own search.

The n-best list of one beam often differs only near the end, because all of its hypotheses share a few prefixes. Here
the first free position (the first of all, or the one after a given prefix) takes N different tokens, and each of these
prefixes is completed separately.
"""

from dataclasses import replace

import torch

from seqloom.decode.beam import beam_search
from seqloom.decode.constraints import Prefixes, Rules
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.decode.search import search
from seqloom.models.api import Memory, Seq2Seq
from seqloom.text.vocabulary import EOS


@torch.inference_mode()
def alternatives(
    model: Seq2Seq,
    memory: Memory,
    request: SearchRequest,
    *,
    prefixes: Prefixes | None = None,
    at_once: int | None = None,
) -> list[list[Hypothesis]]:
    """Up to `request.alternatives` outputs per sentence, best score first; no two share their first free token.

    `at_once`: how many of them are completed at the same time (each needs the memory of a beam); default: all.
    """
    if len(memory.mask) == 0:
        return []
    request = request.filled()
    starts = best_starts(model, memory, request, prefixes)
    complete = replace(request, alternatives=None, n_best=1)
    owners = torch.tensor([row for row, found in enumerate(starts) for _ in found], device=memory.mask.device)
    every = [start for found in starts for start in found]
    completed: list[list[Hypothesis]] = []
    size = at_once or len(every)
    for part in (slice(first, first + size) for first in range(0, len(every), size)):
        completed += search(model, memory.select(owners[part]), complete, prefixes=every[part])
    in_order = iter(completed)
    answers = [[next(in_order)[0] for _ in found] for found in starts]
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in answers]


def best_starts(
    model: Seq2Seq, memory: Memory, request: SearchRequest, prefixes: Prefixes | None
) -> list[list[list[int]]]:
    """The prefix of each sentence with each of its most probable next tokens: a beam that is cut right there."""
    num = request.num
    one_step = replace(request, alternatives=None, beam=num, n_best=num, coverage_penalty=0)  # of one length and past
    lengths = [len(prefix) for prefix in prefixes] if prefixes is not None else [0] * len(memory.mask)
    limits = torch.tensor(lengths, device=memory.mask.device) + 1
    found = beam_search(model, memory, limits, one_step, Rules.of(request, prefixes, memory))
    return [[[*start.ids, *[EOS] * start.ended] for start in ranked] for ranked in found]
