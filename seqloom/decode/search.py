"""Greedy and beam search over a whole batch, through the contract of `models.api` only.

The rules, written once. They are those of CTranslate2 4.8 (`min_decoding_length=0`), so that both engines answer alike:

candidates  Each step ranks the W*V continuations of a sentence's W live hypotheses by summed log-probability and looks
            at the best 2W. In the first step there is one live hypothesis: BOS.
end         An EOS among the first W of them finishes its hypothesis; an EOS further down is dropped.
            The first W without EOS live on (there are always W: at most one EOS a live hypothesis).
score       log_prob / length ** length_penalty + coverage penalty (`decode/coverage.py`), the EOS counted everywhere.
stop        A sentence is done when it has W finished hypotheses. Without penalties it is done as soon as the best
            candidate of some step was an EOS and there are n_best hypotheses: none that lives can overtake the best.
limit       max_length steps, 2 x source length (its EOS counted) + 50 unless given. At the last one the first W
            candidates are finished as they are, EOS or not (`ended` tells).
answer      The n_best by score. Ties go to what finished first.
tokens      PAD and BOS are never written; UNK is an ordinary token. They are struck out after the softmax, so that each
            log_prob is the model's own: what `decode.score` gives for the same tokens. So are the tokens that a minimum
            length, no-repeat n-grams and a prefix forbid (`decode/rules.py`). A prefix is a part of the output: its
            tokens count in length, log_prob and limit. (CTranslate2 strikes out before the softmax and scores a prefix
            as 0: with those options its scores, and so perhaps its choice, are others.)

An ensemble is a model like any other (`decode/ensemble.py`). Put the model in eval mode first: dropout would make the
answers random.
"""

from dataclasses import replace
from typing import Any

import torch

from seqloom.decode.beam import beam_search
from seqloom.decode.greedy import greedy_search
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchOptions
from seqloom.decode.rules import Prefixes, Rules
from seqloom.models.api import Memory, Seq2Seq


@torch.inference_mode()
def search(
    model: Seq2Seq,
    memory: Memory,
    options: SearchOptions | None = None,
    *,
    prefixes: Prefixes | None = None,
    **settings: Any,
) -> list[list[Hypothesis]]:
    """The n_best outputs for each sentence of the memory, best first. `settings` are options by name: beam=1."""
    options = replace(options or SearchOptions(), **settings)
    if len(memory.mask) == 0:
        return []
    rules = Rules.of(options, prefixes, memory)
    limits = options.limits(memory.mask.sum(1))
    if options.beam == 1 and not options.coverage_penalty:  # which reads the attention: beam search does
        return greedy_search(model, memory, limits, options.length_penalty, rules)
    return beam_search(model, memory, limits, options, rules)
