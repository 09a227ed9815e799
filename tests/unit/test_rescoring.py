"""The weight of our score in re-ranking: exactly the best one, and the bound that any choice can reach."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from seqloom.metrics.measures import bleu_metric, measure_sacrebleu
from seqloom.rerank.combine_scores import Lists, choose, oracle, tune_weight

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "in", "mat", "field", "big", "small"]


def lists_of(theirs, ours):
    """From one list of numbers a sentence."""
    starts = np.cumsum([0, *map(len, theirs)])
    return Lists(np.concatenate(theirs).astype(float), np.concatenate(ours).astype(float), starts)


def measure(candidates, references):
    flat = [text for group in candidates for text in group]
    repeated = [[reference] for group, reference in zip(candidates, references, strict=True) for _ in group]
    return measure_sacrebleu(bleu_metric("en"), flat, repeated)


@pytest.fixture(scope="module")
def random_lists():
    """Forty sentences of up to nine candidates; our opinion leans to the better ones."""
    draw = np.random.default_rng(5)
    references, candidates, theirs, ours = [], [], [], []
    for _ in range(40):
        reference = draw.choice(WORDS, 9)
        group = []
        for _ in range(draw.integers(1, 10)):
            wrong = draw.random(9) < draw.random()
            group.append(np.where(wrong, draw.choice(WORDS, 9), reference))
        references.append(" ".join(reference))
        candidates.append([" ".join(words) for words in group])
        good = np.array([(words == reference).mean() for words in group])
        theirs.append(np.round(4 * draw.normal(size=len(group)), 1))  # rounded: some are equal
        ours.append(30 * good + 6 * draw.normal(size=len(group)))
    return lists_of(theirs, ours), measure(candidates, references), candidates, references


def test_of_each_list_the_highest_sum():
    lists = lists_of([[1, 2, 3], [5], [0, 0]], [[9, 0, 0], [1], [1, 1]])
    assert choose(lists, 0.0).tolist() == [2, 3, 4]
    assert choose(lists, 0.5).tolist() == [0, 3, 4]
    assert choose(lists, 0.2).tolist() == [2, 3, 4]


def test_no_weight_of_a_fine_grid_is_better(random_lists):
    lists, bleu, _, _ = random_lists
    weight, best = tune_weight(lists, bleu)
    assert best == pytest.approx(bleu.score_of(choose(lists, weight)))
    grid = [bleu.score_of(choose(lists, w)) for w in np.concatenate([np.linspace(0, 2, 401), np.geomspace(2, 1e4, 50)])]
    assert best >= max(grid) - 1e-9
    assert weight > 0
    assert best > grid[0] + 1
    assert len(set(grid)) > 10  # the weight matters


def test_the_lowest_weight_of_equals_and_none_when_ours_is_no_help():
    candidates, references = [["the cat sat on", "a dog ran in"]], ["the cat sat on"]
    bleu = measure(candidates, references)
    assert tune_weight(lists_of([[2, 1]], [[0, 5]]), bleu) == (0.0, pytest.approx(100))
    assert tune_weight(lists_of([[2, 1]], [[5, 0]]), bleu) == (0.0, pytest.approx(100))
    weight, best = tune_weight(lists_of([[1, 2]], [[4, 0]]), bleu)  # they cross at 1/4
    assert best == pytest.approx(100)
    assert weight > 0.25


def test_a_weight_lies_in_the_middle_of_its_stretch():
    candidates = [["x y z w", "the cat sat on", "a b c d"]]
    lists = lists_of([[3, 2, -8]], [[0, 2, 4]])  # the first to 0.5, the second to 5, then the third
    weight, best = tune_weight(lists, measure(candidates, ["the cat sat on"]))
    assert (weight, best) == (pytest.approx(2.75), pytest.approx(100))


def test_lines_that_meet_in_one_point_and_equal_scores_at_zero():
    candidates = [["x y z w", "a b c d", "the cat sat on"], ["x y z w", "the cat sat on"]]
    lists = lists_of([[2, 1, 0], [1, 1]], [[0, 1, 2], [0, 1]])  # all three meet at 1; the other two are equal at 0
    bleu = measure(candidates, ["the cat sat on"] * 2)
    weight, best = tune_weight(lists, bleu)
    assert weight > 1
    assert best == pytest.approx(100) == pytest.approx(bleu.score_of(choose(lists, weight)))


def test_the_oracle_takes_the_best_sentence_of_each_list(random_lists):
    lists, bleu, candidates, references = random_lists
    scorer = BLEU(effective_order=True)
    for part, place, group, reference in zip(lists.parts(), oracle(lists, bleu), candidates, references, strict=True):
        scores = [scorer.sentence_score(text, [reference]).score for text in group]
        assert place - part.start == int(np.argmax(scores))
    assert bleu.score_of(oracle(lists, bleu)) > tune_weight(lists, bleu)[1]


def test_the_oracle_knows_sentences_of_fewer_than_four_words():
    bleu = measure([["a dog", "the cat"]], ["the cat"])
    assert oracle(lists_of([[1, 0]], [[0, 0]]), bleu).tolist() == [1]
