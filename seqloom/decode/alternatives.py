"""Alternatives that differ early: the N best next tokens, each with the best completion that search finds for it.

The n-best of a beam differ in a letter near the end, as all of them grow from the same few beginnings. Here the first
free position (the first of all, or the one after a prefix) is opened to N tokens, and each is completed on its own.
"""

from dataclasses import replace

import torch

from seqloom.decode.beam import beam_search
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchOptions
from seqloom.decode.rules import Prefixes, Rules
from seqloom.decode.search import search
from seqloom.models.api import Memory, Seq2Seq
from seqloom.text.vocabulary import EOS


@torch.inference_mode()
def alternatives(
    model: Seq2Seq,
    memory: Memory,
    num: int,
    options: SearchOptions,
    *,
    prefixes: Prefixes | None = None,
    at_once: int | None = None,
) -> list[list[Hypothesis]]:
    """Up to `num` outputs a sentence, best score first; no two share their first free token.

    `at_once`: how many of them are completed at a time, as each holds a beam in memory; all by default.
    """
    if len(memory.mask) == 0:
        return []
    starts = best_starts(model, memory, num, options, prefixes)
    owners = torch.tensor([row for row, found in enumerate(starts) for _ in found], device=memory.mask.device)
    every = [start for found in starts for start in found]
    completed: list[list[Hypothesis]] = []
    size = at_once or len(every)
    for part in (slice(first, first + size) for first in range(0, len(every), size)):
        completed += search(model, memory.select(owners[part]), options, n_best=1, prefixes=every[part])
    in_order = iter(completed)
    answers = [[next(in_order)[0] for _ in found] for found in starts]
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in answers]


def best_starts(
    model: Seq2Seq, memory: Memory, num: int, options: SearchOptions, prefixes: Prefixes | None
) -> list[list[list[int]]]:
    """The prefix of each sentence with each of its `num` most probable next tokens: a beam that is cut right there."""
    one_step = replace(options, beam=num, n_best=num, coverage_penalty=0)  # all have one length and one past
    lengths = [len(prefix) for prefix in prefixes] if prefixes is not None else [0] * len(memory.mask)
    limits = torch.tensor(lengths, device=memory.mask.device) + 1
    found = beam_search(model, memory, limits, one_step, Rules.of(options, prefixes, memory))
    return [[[*start.ids, *[EOS] * start.ended] for start in ranked] for ranked in found]
