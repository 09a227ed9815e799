"""Greedy and beam search for a whole batch, for any model that follows the contract of `models.api`.

The rules of the search are those of CTranslate2 4.8 (`min_decoding_length=0`), so that both engines give equal outputs:

candidates  Each step ranks the W*V continuations of a sentence's W live hypotheses by summed log-probability and looks
            at the best 2W. In the first step there is one live hypothesis: BOS.
end         An EOS among the first W of them finishes its hypothesis; an EOS further down is dropped.
            The first W without EOS stay alive, the rest is pruned. There are always W: at most one EOS per live one.
score       log_prob / length ** length_penalty + coverage penalty (`decode/coverage.py`); EOS is counted everywhere.
stop        A sentence is done when it has W finished hypotheses. Without penalties it is done as soon as the best
            candidate of some step was an EOS and there are n_best hypotheses: no live one can become better than that.
limit       max_length steps; default 2 x source length (with its EOS) + 50. At the last step the first W candidates are
            finished as they are, with or without EOS (`ended`).
answer      The n_best by score. In a tie the hypothesis that finished first wins.
tokens      PAD and BOS are never written; UNK is an ordinary token. Forbidden tokens are excluded after the softmax, so
            that each log_prob is the model's: what `decode.score` gives for the same tokens. The same holds for tokens
            that a minimum length, no-repeat n-grams or a prefix forbid (`constraints.py`). A prefix is part of the
            output: its tokens count in length, log_prob and limit. (CTranslate2 excludes tokens before the softmax and
            scores a prefix as 0: with those options its scores differ, and its outputs may differ.)

An ensemble is a model like any other (`decode/ensemble.py`). Put the model in eval mode first: dropout would make the
outputs random.
"""

from dataclasses import replace
from typing import Any

import torch

from seqloom.decode.beam import beam_search
from seqloom.decode.constraints import Prefixes, Rules
from seqloom.decode.greedy import greedy_search
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.models.api import Memory, Seq2Seq


@torch.inference_mode()
def search(
    model: Seq2Seq,
    memory: Memory,
    request: SearchRequest | None = None,
    *,
    prefixes: Prefixes | None = None,
    **options: Any,
) -> list[list[Hypothesis]]:
    """The best `request.num` outputs of each sentence of the memory, best first. `options` by name: beam=1."""
    request = replace(request or SearchRequest(), **options).filled()
    if len(memory.mask) == 0:
        return []
    rules = Rules.of(request, prefixes, memory)
    limits = request.limits(memory.mask.sum(1))
    if request.beam == 1 and not request.coverage_penalty:  # which reads the attention: beam search does
        return greedy_search(model, memory, limits, request.length_penalty, rules)
    return beam_search(model, memory, limits, request, rules)
