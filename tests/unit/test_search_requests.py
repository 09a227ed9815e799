"""A search request: which options go together, what is filled in, and what an engine is asked for."""

import numpy as np
import pytest

from seqloom.config.sections import DecodeConfig
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.rerank import minimum_bayes_risk as rerank
from seqloom.runtime.parts import Translation, least_risky
from seqloom.runtime.translator import Translator

FIRST = 4 + 256  # the first letter of a tokenizer of characters, behind the special ids and the bytes
PLAIN = {"beam": 5, "n_best": 1, "length_penalty": 1.0, "coverage_penalty": 0.0, "min_length": 0, "no_repeat_ngram": 0}
DRAWN = {"length_penalty": 1.0, "min_length": 0, "no_repeat_ngram": 0, "top_k": 0, "top_p": 1.0, "seed": 1}


def test_what_is_not_given_is_filled_in_where_it_applies():
    assert SearchRequest().given == {}
    assert SearchRequest().filled().given == PLAIN
    assert SearchRequest(beam=7, n_best=2).filled().given == PLAIN | {"beam": 7, "n_best": 2}
    rules = {"length_penalty": 0.0, "coverage_penalty": 0.2, "min_length": 0, "no_repeat_ngram": 3}
    assert SearchRequest(**rules).filled().given == PLAIN | rules  # a zero is an option too
    opened = SearchRequest(alternatives=3, beam=2).filled().given
    assert opened == {name: value for name, value in PLAIN.items() if name != "n_best"} | {"alternatives": 3, "beam": 2}
    drawn = SearchRequest(sample=2, temperature=0.5).filled()
    assert drawn.given == DRAWN | {"sample": 2, "temperature": 0.5}
    assert drawn.filled() == drawn  # a filled request stays as it is


def test_the_models_own_settings_come_before_the_defaults():
    own = DecodeConfig(beam=3, length_penalty=0.5, min_length=2)
    assert SearchRequest(min_length=0).filled(own).given == PLAIN | {"beam": 3, "length_penalty": 0.5}
    assert SearchRequest(n_best=8).filled(own).beam == 8  # as wide as the outputs need
    assert SearchRequest(mbr=9).filled(own).beam == 9
    assert SearchRequest(alternatives=9).filled(own).beam == 3
    assert SearchRequest().filled(own, vocab_size=2).beam == 2
    with pytest.raises(UsageError, match="min_length = 2: want less than max_length = 2"):
        SearchRequest(max_length=2).filled(own)


class Spy:
    """An engine that finds one letter after the other and remembers its requests."""

    name = "spy"

    def __init__(self):
        self.asked = []

    def lacks(self, request, parts):
        return ""

    def find(self, request, parts):
        self.asked.append(request)
        return [[Hypothesis((FIRST + number,), -number, -number) for number in range(request.num)] for _ in parts]


@pytest.fixture
def ask(tiny_model):
    translator = Translator.load(tiny_model)

    def asked(**options):
        translator.engine = Spy()
        (found,) = translator.answer(["abc"], SearchRequest(**options))
        (request,) = translator.engine.asked
        decode = translator.tokenizers.target.decode
        assert request == translator.fill(SearchRequest(**options))
        known = [decode([FIRST + number]) for number in range(9)]
        return request.num, [known.index(output.text) for output in found]

    return asked


def test_minimum_bayes_risk_chooses_among_more_than_it_shows(ask, monkeypatch):
    monkeypatch.setattr(rerank, "mean_chrf", lambda texts: np.arange(len(texts)))
    assert ask(n_best=2) == (2, [0, 1])
    assert ask(mbr=6) == (6, [5])
    assert ask(mbr=6, n_best=2) == (6, [5, 4])
    assert ask(mbr=6, sample=3, top_p=0.9) == (6, [5, 4, 3])


def test_the_choice_is_that_of_the_rerank_function():
    texts = ["a dog ran", "the cat sat", "the cat sat down", "the cat sits", "the cat sat"]
    ranked = least_risky([Translation(text, 0.0, 0.0) for text in texts])
    assert [t.text for t in ranked] == [texts[place] for place in rerank.rank_by_risk(texts)]
    assert ranked[-1].text == "a dog ran"
    assert sorted(t.text for t in ranked) == sorted(texts)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_best": 2, "sample": 2}, "--n-best and --sample: these exclude each other; give only one"),
        ({"alternatives": 2, "sample": 2}, "--alternatives and --sample"),
        ({"n_best": 2, "alternatives": 2}, "--n-best and --alternatives"),
        ({"n_best": 0}, "n_best = 0: want 1 to 1000"),
        ({"n_best": 1001}, "n_best = 1001: want 1 to 1000"),
        ({"alternatives": 0}, "alternatives = 0: want 1 to 1000"),
        ({"sample": -1}, "sample = -1: want 1 to 1000"),
        ({"temperature": 0.5}, "--temperature: only with --sample N"),
        ({"top_k": 5}, "--top-k: only with --sample N"),
        ({"top_p": 0.5}, "--top-p: only with --sample N"),
        ({"seed": 5}, "--seed: only with --sample N"),
        ({"sample": 1, "seed": -1}, "seed = -1: want 0 or more"),
        ({"sample": 1, "beam": 5}, "--beam: only without --sample"),
        ({"sample": 1, "coverage_penalty": 0.2}, "--coverage-penalty: only without --sample"),
        ({"mbr": 1}, "mbr = 1: want 2 to 1000 candidates"),
        ({"mbr": 1001}, "mbr = 1001: want 2 to 1000 candidates"),
        ({"mbr": 5, "alternatives": 2}, "--mbr and --alternatives"),
        ({"mbr": 5, "n_best": 6}, "--mbr 5: cannot choose 6 of 5 candidates"),
        ({"mbr": 5, "sample": 6}, "--mbr 5: cannot choose 6 of 5 candidates"),
        ({"mbr": 5, "beam": 4}, "--mbr 5 --beam 4: a beam finds at most 4 candidates; raise --beam"),
        ({"beam": 0}, "beam = 0"),
        ({"beam": 2, "n_best": 3}, "beam = 2, n_best = 3: want 1 <= n_best <= beam <= 1000"),
        ({"length_penalty": -1}, "length_penalty = -1: want 0 to 10"),
        ({"min_length": -1}, "min_length = -1"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram = -1"),
        ({"sample": 2, "temperature": 0}, "temperature = 0"),
        ({"sample": 2, "top_p": 0}, "top_p = 0"),
        ({"temperature": 0.5, "top_k": 5}, "--temperature: only with --sample N; --top-k: only with --sample N"),
    ],
)
def test_options_that_cannot_hold(wrong, said):
    with pytest.raises(UsageError) as caught:
        SearchRequest(**wrong).check()
    assert said in str(caught.value)


def test_options_that_can():
    SearchRequest(n_best=1000).check()
    SearchRequest(mbr=5, beam=5, n_best=5).check()
    SearchRequest(sample=1000, mbr=1000).check()
    SearchRequest(alternatives=4, beam=1).check()
