"""Intervals as sacrebleu draws them, p-values that behave, and the speed that makes them the default."""

import random
import time

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from seqloom.metrics import significance
from seqloom.metrics.measures import Measurement, measure, percent
from seqloom.metrics.significance import compare, estimate


def rates(hits):
    """A measurement of hits out of one a sentence."""
    return {"rate": Measurement(np.array([[hit, 1.0] for hit in hits]), percent, "nrefs:1|case:mixed")}


def noisy(sentences, share, seed):
    draw = random.Random(seed)
    return [" ".join(word for word in text.split() if draw.random() >= share) for text in sentences]


@pytest.fixture(scope="module")
def references():
    draw = random.Random(5)
    return [" ".join(draw.choices("abcdefghij", k=draw.randint(4, 15))) for _ in range(100)]


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU), ("chrf", CHRF), ("ter", TER)])
def test_intervals_are_those_of_sacrebleu(name, metric, references):
    outputs = noisy(references, 0.3, 1)
    theirs = metric()
    score = theirs.corpus_score(outputs, [references], n_bootstrap=1000)
    ours = estimate(measure(outputs, [[reference] for reference in references]))[name]
    assert ours.score == pytest.approx(score.score)
    assert (ours.high - ours.low) / 2 == pytest.approx(score._ci, rel=1e-4)  # theirs sums in float32
    assert ours.low < ours.score < ours.high
    assert ours.signature == str(theirs.get_signature())


def test_an_interval_narrows_with_the_root_of_the_sentences():
    draw = random.Random(1)
    few, many = ([draw.random() < 0.3 for _ in range(n)] for n in (100, 2500))
    narrow, wide = (estimate(rates(hits))["rate"] for hits in (many, few))
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(5, rel=0.2)
    # the normal approximation: 4 sqrt(p (1 - p) / n)
    p = narrow.score / 100
    assert narrow.high - narrow.low == pytest.approx(100 * 3.92 * (p * (1 - p) / 2500) ** 0.5, rel=0.1)


def test_the_same_outputs_do_not_differ():
    same = rates([1, 0, 1, 1] * 30)
    difference = compare(same, same)["rate"]
    assert (difference.difference, difference.low, difference.high, difference.p_value) == (0, 0, 0, 1)


def test_a_difference_has_the_sign_of_ours_minus_theirs():
    ours, theirs = rates([1] * 90 + [0] * 10), rates([1] * 60 + [0] * 40)
    better, worse = compare(ours, theirs)["rate"], compare(theirs, ours)["rate"]
    assert better.difference == pytest.approx(30)
    assert worse.difference == pytest.approx(-30)
    assert better.low > 15
    assert better.p_value < 0.01
    assert worse.p_value == better.p_value


def test_pairing_finds_what_two_intervals_do_not():
    draw = random.Random(2)
    theirs = [float(draw.random() < 0.5) for _ in range(400)]
    ours = list(theirs)
    for place in [i for i, hit in enumerate(theirs) if not hit][:12]:
        ours[place] = 1.0  # better on 12 sentences, worse on none
    a, b = estimate(rates(ours))["rate"], estimate(rates(theirs))["rate"]
    assert a.low < b.high  # the intervals overlap
    assert compare(rates(ours), rates(theirs))["rate"].p_value < 0.01


def test_chance_differences_are_rarely_significant():
    draw = random.Random(3)
    p_values = [
        compare(*(rates([float(draw.random() < 0.5) for _ in range(100)]) for _ in range(2)))["rate"].p_value
        for _ in range(60)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.15
    assert 0.3 < np.mean(p_values) < 0.7


def lopsided(words=99):
    """BLEU of two systems that have every single word wrong, but one of them has one sentence right."""
    right = "a man in an orange hat"
    both = [right] + ["x"] * words, ["x"] * (words + 1)
    return [measure(texts, [[right]] + [["yes"]] * words, names=["bleu"]) for texts in both]


def test_one_lucky_sentence_is_not_significant():
    """A third of the resamples does not even contain it. By the distance from their mean alone p would be 0.001."""
    found = compare(*lopsided())["bleu"]
    assert found.low == 0 < found.difference < found.high
    assert 0.6 < found.p_value < 0.85
    assert not found.significant
    assert found.starred_p == f"{found.p_value:.3f}"
    worse = compare(*reversed(lopsided()))["bleu"]
    assert worse.p_value == found.p_value


@pytest.mark.parametrize("seed", range(8))
def test_a_star_means_that_the_interval_excludes_zero(seed):
    draw = np.random.default_rng(seed)
    shares, seen = draw.uniform(0, 0.06, 40), set()
    for share in shares:
        resampled = np.where(draw.random(1000) < share, 0.0, draw.exponential(1.0, 1000))
        found = significance.difference_of(float(resampled.mean()) * 2.5, resampled, 100)
        assert found.p_value >= 2 * np.mean(resampled <= 0)
        if found.significant:
            assert found.low > 0
        seen.add(found.significant)
    assert seen == {True, False}


def test_ties_count_for_neither_side():
    """Of a thousand resamples 25 without a difference are one in twenty of both tails: no star; 24 are fewer."""
    for ties, star in ((25, False), (24, True)):
        resampled = np.concatenate([np.zeros(ties), np.full(1000 - ties, 5.0)])
        assert significance.difference_of(5.0, resampled, 100).significant is star


@pytest.mark.parametrize(("sentences", "least"), [(1, 1.0), (3, 0.25), (6, 1 / 32)])
def test_few_sentences_prove_little(sentences, least):
    assert compare(rates([1.0] * sentences), rates([0.0] * sentences))["rate"].p_value == least


def test_only_shared_metrics_are_compared():
    ours = {**rates([1.0, 0.0]), "ter": rates([1.0, 0.0])["rate"]}
    assert list(compare(ours, rates([1.0, 1.0]))) == ["rate"]


def test_metrics_over_different_sentences_are_refused():
    with pytest.raises(ValueError, match="different sentences"):
        estimate({"a": rates([1.0])["rate"], "b": rates([1.0, 0.0])["rate"]})


def test_blocks_change_nothing(monkeypatch):
    hits = rates([1.0, 0.0, 1.0, 0.5] * 7)
    whole = estimate(hits)
    monkeypatch.setattr(significance, "BLOCK", 100)
    assert estimate(hits) == whole


def test_a_thousand_resamples_of_a_thousand_sentences_are_quick(references):
    measured = measure(noisy(references * 10, 0.2, 4), [[reference] for reference in references * 10])
    start = time.process_time()
    estimate(measured)
    assert time.process_time() - start < 2
