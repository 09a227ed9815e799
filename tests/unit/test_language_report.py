"""Perplexity and bits per character from the loss of each line, with an interval over blocks of lines."""

import json
import math

import numpy as np
import pytest

from seqloom.evaluation.language_report import LanguageReport, add_up_blocks, compare_costs, estimate_costs


def test_scores_are_their_formulas() -> None:
    costs, tokens, chars = np.array([10.0, 30.0, 2.0]), np.array([5, 10, 1]), np.array([20, 40, 1])
    scores = {name: found.score for name, found in estimate_costs(costs, tokens, chars).items()}
    assert scores["nats_per_token"] == pytest.approx(42 / 16)
    assert scores["perplexity"] == pytest.approx(math.exp(42 / 16))
    assert scores["nats_per_character"] == pytest.approx(42 / 61)
    assert scores["bits_per_character"] == pytest.approx(42 / 61 / math.log(2))


def test_blocks_hold_neighbours_and_everything_once() -> None:
    random = np.random.default_rng(1)
    lines = np.stack([random.random(3000), random.integers(1, 90, 3000), random.integers(1, 300, 3000)], 1)
    blocks = add_up_blocks(lines)
    assert blocks.sum(0) == pytest.approx(lines.sum(0))
    assert 150 < len(blocks) <= 200
    assert blocks[:, 1].min() > 0.6 * blocks[:, 1].max()
    first = int(np.searchsorted(np.cumsum(lines[:, 1]), blocks[0, 1])) + 1
    assert blocks[0] == pytest.approx(lines[:first].sum(0))
    assert len(add_up_blocks(lines[:3])) == 1
    assert len(add_up_blocks(np.array([[1.0, 1000.0, 1.0], [1.0, 1000.0, 1.0]]))) == 2


def test_lines_that_cost_alike_in_a_row_widen_the_interval() -> None:
    """Shuffled, the same lines seem to tell more than they do."""
    random = np.random.default_rng(2)
    costs = np.repeat(random.normal(20, 6, 100), 40)
    ones = np.full(4000, 10)
    together = estimate_costs(costs, ones, ones)["nats_per_token"]
    shuffled = estimate_costs(random.permutation(costs), ones, ones)["nats_per_token"]
    assert together.score == pytest.approx(shuffled.score)
    assert together.high - together.low > 3 * (shuffled.high - shuffled.low)


def test_a_report_for_people_and_for_programs() -> None:
    scores = estimate_costs(np.array([10.0, 30.0]), np.array([5, 10]), np.array([20, 40]))
    about = {"text": "a.txt", "lines": 2, "characters": 60, "tokens": 15, "window": 16, "seconds": 0.5}
    report = LanguageReport(about, scores, {}, ["mind the gap"])
    assert "a.txt: 2 lines, 60 characters, 15 tokens" in report.render()
    assert "before each" not in report.render() and "\nmind the gap" in report.render()
    assert "at least 8 tokens of context each" in LanguageReport(about, scores, scores, []).render()
    told = report.to_json()
    assert told["perplexity"]["score"] == pytest.approx(math.exp(40 / 15)) and told["with_context"] == {}


@pytest.mark.parametrize(("lines", "known"), [(9, False), (10, True)])
def test_few_blocks_give_no_interval_and_no_p(lines: int, known: bool) -> None:
    """A line of 300 tokens is a block."""
    costs, tokens = np.linspace(500, 600, lines), np.full(lines, 300)
    scores = estimate_costs(costs, tokens, tokens)
    rival = compare_costs("runs/y", costs, costs + 30 + np.arange(lines), tokens, tokens)
    assert scores["perplexity"].score == pytest.approx(math.exp(550 / 300))
    assert rival.difference is not None
    for number in (scores["perplexity"].low, rival.difference.low, rival.difference.high, rival.difference.p_value):
        assert math.isfinite(number) == known
    about = {"text": "a.txt", "lines": lines, "characters": 9, "tokens": 9, "window": 16, "seconds": 0.5}
    report = LanguageReport(about, scores, {}, [], rival)
    assert "nan" not in report.render() and ("p = " in report.render()) == known
    told = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert (told["perplexity"]["high"] is None) != known and (told["against"]["difference"]["low"] is None) != known
    assert bool(told["warnings"]) != known


def test_a_rival_that_cannot_be_compared_says_why() -> None:
    ones = np.ones(3000)
    rival = compare_costs("runs/y", ones, 2 * ones, ones, ones, why_not="it has unknown words")
    assert rival.difference is None and rival.bits_per_character == pytest.approx(2 / math.log(2))
    assert rival.render().endswith("not compared: it has unknown words")
