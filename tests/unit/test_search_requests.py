"""The options of `translate` and `evaluate`: which go together, and what each asks of a translator."""

import numpy as np
import pytest

from seqloom.errors import UsageError
from seqloom.runtime import rerank
from seqloom.runtime.parts import Translation
from seqloom.workflows.decoding import Decoding, least_risky


class Spy:
    """A translator that finds candidate 0, 1, 2 ... and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def answer(self, name, texts, num, *rest, **options):
        self.asked.append((name, num, *rest, options))
        return [[Translation(f"{text} {number}", -number, -number) for number in range(num)] for text in texts]

    def hypotheses(self, texts, beam, n_best, **options):
        return self.answer("hypotheses", texts, n_best, beam, **options)

    def alternatives(self, texts, num, beam, **options):
        return self.answer("alternatives", texts, num, beam, **options)

    def sample(self, texts, num, **options):
        return self.answer("sample", texts, num, **options)


SHARED = {"prefixes": None, "lines": [1], "warn": print}


def ask(**options):
    spy = Spy()
    found = Decoding(**options).run(spy, ["a"], lines=[1], warn=print)
    ((name, *arguments, said),) = spy.asked
    assert {key: said.pop(key) for key in SHARED} == SHARED
    return name, *arguments, said, [t.text for t in found[0]]


def test_what_a_translator_is_asked():
    assert ask() == ("hypotheses", 1, None, {}, ["a 0"])
    assert ask(beam=7, n_best=2) == ("hypotheses", 2, 7, {}, ["a 0", "a 1"])
    rules = {"length_penalty": 0.0, "coverage_penalty": 0.2, "min_length": 0, "no_repeat_ngram": 3}
    assert ask(**rules) == ("hypotheses", 1, None, rules, ["a 0"])  # a zero is an option too
    assert ask(alternatives=3, beam=2) == ("alternatives", 3, 2, {}, ["a 0", "a 1", "a 2"])
    chance = {"temperature": 0.5, "top_k": 4, "top_p": 0.9, "seed": 0}
    assert ask(sample=2, **chance, min_length=1) == ("sample", 2, {**chance, "min_length": 1}, ["a 0", "a 1"])


def test_minimum_bayes_risk_chooses_among_more_than_it_shows(monkeypatch):
    monkeypatch.setattr(rerank, "mean_chrf", lambda texts: np.arange(len(texts)))
    assert ask(mbr=6) == ("hypotheses", 6, None, {}, ["a 5"])
    assert ask(mbr=6, n_best=2) == ("hypotheses", 6, None, {}, ["a 5", "a 4"])
    assert ask(mbr=6, sample=3, top_p=0.9) == ("sample", 6, {"top_p": 0.9}, ["a 5", "a 4", "a 3"])


def test_the_choice_is_that_of_the_rerank_function():
    texts = ["a dog ran", "the cat sat", "the cat sat down", "the cat sits", "the cat sat"]
    ranked = least_risky([Translation(text, 0.0, 0.0) for text in texts])
    assert [t.text for t in ranked] == [texts[place] for place in rerank.rank_by_risk(texts)]
    assert ranked[-1].text == "a dog ran"
    assert sorted(t.text for t in ranked) == sorted(texts)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_best": 2, "sample": 2}, "--n-best and --sample: each says where the outputs come from; give one"),
        ({"alternatives": 2, "sample": 2}, "--alternatives and --sample"),
        ({"n_best": 2, "alternatives": 2}, "--n-best and --alternatives"),
        ({"n_best": 0}, "--n-best 0: want 1 to 1000"),
        ({"n_best": 1001}, "--n-best 1001: want 1 to 1000"),
        ({"alternatives": 0}, "--alternatives 0: want 1 to 1000"),
        ({"sample": -1}, "--sample -1: want 1 to 1000"),
        ({"temperature": 0.5}, "--temperature: only with --sample N"),
        ({"top_k": 5}, "--top-k: only with --sample N"),
        ({"top_p": 0.5}, "--top-p: only with --sample N"),
        ({"seed": 5}, "--seed: only with --sample N"),
        ({"sample": 1, "seed": -1}, "--seed -1: want 0 or more"),
        ({"sample": 1, "beam": 5}, "--beam: only without --sample"),
        ({"sample": 1, "coverage_penalty": 0.2}, "--coverage-penalty: only without --sample"),
        ({"mbr": 1}, "--mbr 1: want 2 to 1000 candidates"),
        ({"mbr": 1001}, "--mbr 1001: want 2 to 1000 candidates"),
        ({"mbr": 5, "alternatives": 2}, "--mbr and --alternatives"),
        ({"mbr": 5, "n_best": 6}, "--mbr 5: cannot choose 6 of 5 candidates"),
        ({"mbr": 5, "sample": 6}, "--mbr 5: cannot choose 6 of 5 candidates"),
        ({"mbr": 5, "beam": 4}, "--mbr 5 --beam 4: a beam finds as many candidates as it is wide"),
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
        Decoding(**wrong)
    assert said in str(caught.value)


def test_options_that_can():
    Decoding(n_best=1000)
    Decoding(mbr=5, beam=5, n_best=5)
    Decoding(sample=1000, mbr=1000)
    Decoding(alternatives=4, beam=1)
