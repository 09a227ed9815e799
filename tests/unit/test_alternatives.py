"""Alternatives: the most probable first tokens, each completed as a search completes a prefix."""

from dataclasses import replace

import pytest
import torch

from seqloom.decode.alternatives import alternatives
from seqloom.decode.options import SearchRequest
from seqloom.decode.search import search
from seqloom.text.vocabulary import BOS, EOS, PAD

PREFIXES = [(), (5,), (4, 4, 6), (8, 7), (3,)]


def brute_force(model, memory, num, options, prefix):
    """The tokens that may come first, ranked; each completed by search itself, one at a time."""
    logits = model.project(model.hidden(torch.tensor([[BOS, *prefix]]), memory)[:, -1])
    values = dict(enumerate(logits.log_softmax(-1)[0].tolist()))
    n = options.no_repeat_ngram
    groups = {prefix[i : i + n] for i in range(len(prefix) - n + 1)} if n else set()
    allowed = [
        token
        for token in values
        if token not in (PAD, BOS)
        and not (token == EOS and len(prefix) < options.min_length)
        and not (n and (*prefix[len(prefix) - n + 1 :], token) in groups)
    ]
    first = sorted(allowed, key=lambda token: -values[token])[:num]
    found = [search(model, memory, options, n_best=1, prefixes=[(*prefix, token)])[0][0] for token in first]
    return sorted(found, key=lambda h: -h.score)


@pytest.mark.parametrize(
    "settings",
    [{}, {"beam": 1}, {"min_length": 3, "no_repeat_ngram": 2}, {"coverage_penalty": 0.5}],
    ids=["plain", "greedy", "rules", "coverage"],
)
@pytest.mark.parametrize("prefixes", [None, PREFIXES], ids=["free", "prefix"])
def test_each_is_the_best_completion_of_its_beginning(settings, prefixes, make_model, five):
    model = make_model(1, end=0.5)
    memory = model.encode(*five)
    options = SearchRequest(**{"beam": 3, "max_length": 8, **settings})
    found = alternatives(model, memory, replace(options, alternatives=4), prefixes=prefixes)
    for row, ranked in enumerate(found):
        prefix = prefixes[row] if prefixes else ()
        want = brute_force(model, memory.select(torch.tensor([row])), 4, options.filled(), prefix)
        assert [(h.ids, h.ended) for h in ranked] == [(h.ids, h.ended) for h in want]
        assert [(h.log_prob, h.score) for h in ranked] == [pytest.approx((h.log_prob, h.score), rel=1e-5) for h in want]
        begins = [h.ids[: len(prefix) + 1] for h in ranked]
        assert len(set(begins)) == 4
        assert [h.score for h in ranked] == sorted((h.score for h in ranked), reverse=True)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_completed_a_few_at_a_time_they_are_the_same(at_once, make_model, five):
    model = make_model(1, end=0.5)
    memory, request = model.encode(*five), SearchRequest(beam=3, max_length=8, alternatives=4)
    together = alternatives(model, memory, request, prefixes=PREFIXES)
    model.rows_seen.clear()
    found = alternatives(model, memory, request, prefixes=PREFIXES, at_once=at_once)
    assert [[h.ids for h in ranked] for ranked in found] == [[h.ids for h in ranked] for ranked in together]
    starts = len(five[0]) * 4  # the rows of the step that finds the beginnings
    assert max(rows for _, rows in model.rows_seen) == max(starts, 3 * min(at_once, starts))


def test_an_end_right_after_the_prefix_is_an_alternative_too(make_model, five):
    model = make_model(1, end=30.0)
    memory = model.encode(*five)
    found = alternatives(model, memory, SearchRequest(beam=2, alternatives=3), prefixes=PREFIXES)
    assert all(prefix in [h.ids for h in ranked] for prefix, ranked in zip(PREFIXES, found, strict=True))
    longer = alternatives(model, memory, SearchRequest(beam=2, alternatives=3, min_length=4), prefixes=PREFIXES)
    assert all(len(h.ids) >= 4 for ranked in longer for h in ranked)


def test_there_are_no_more_than_tokens(make_model, five):
    model = make_model(0, vocab=6)
    found = alternatives(model, model.encode(*five), SearchRequest(beam=2, alternatives=5, max_length=4))
    assert [len(ranked) for ranked in found] == [4] * 5  # three words and the end


def test_no_sentence_no_answer(make_model, five):
    model = make_model(0)
    assert alternatives(model, model.encode(*(part[:0] for part in five)), SearchRequest(alternatives=3)) == []
