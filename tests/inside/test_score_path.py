"""The path of a score is read closely where it changes, and split where a Gauss sum of its slopes would miss that."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from seqloom.inside import score_path
from seqloom.inside.input_gradients import Question
from seqloom.inside.integrated_gradients import gauss
from seqloom.inside.score_path import ScorePath, plan

STEP, RULE = 0.3, gauss(4)
WIDTHS = (0.004, 0.3)  # a prediction whose score jumps, and one whose score goes up evenly


def scores(alphas):
    """Two logistic curves of height 6 around STEP."""
    return torch.stack([6 * torch.sigmoid((alphas - STEP) / width) for width in WIDTHS], 1)


def slope(alpha, width):
    risen = 1 / (1 + np.exp(-(alpha - STEP) / width))
    return 6 * risen * (1 - risen) / width


@pytest.fixture
def read(monkeypatch):
    """The points at which scores were computed."""
    points = []

    def log_probs(question, alphas):
        points.extend(alphas.tolist())
        return scores(alphas.double())

    monkeypatch.setattr(score_path, "log_probs", log_probs)
    return points


QUESTION = Question(None, [4], [1], [(0, 5), (0, 6)])
ALLOWED = [0.3, 0.3]


def missed(pieces, answer):
    nodes, weights = map(np.array, RULE)
    gaps = []
    for _, start, end in (piece for piece in pieces if piece[0] == answer):
        found = (end - start) * (weights @ slope(start + nodes * (end - start), WIDTHS[answer]))
        before, after = scores(torch.tensor([start, end]).double())[:, answer].tolist()
        gaps.append(abs(found - (after - before)))
    return sum(gaps)


def test_it_is_read_closely_only_where_a_score_changes(read):
    ScorePath(QUESTION, 1000)
    near = [point for point in read if abs(point - STEP) < 0.05]
    assert len(near) >= 12
    assert len([point for point in read if point > 0.6]) <= 8, "as it began"
    assert len(read) == len({*read}), "no point twice"


def test_no_more_points_than_allowed(read):
    ScorePath(QUESTION, 20)
    assert 17 <= len(read) <= 20


def test_pieces_cover_the_path_and_their_sums_hold(read):
    pieces = plan(ScorePath(QUESTION, 1000), ALLOWED, RULE, 100)
    for answer in (0, 1):
        ends = [piece[1:] for piece in pieces if piece[0] == answer]
        assert ends[0][0] == 0 and ends[-1][1] == 1
        assert all(one[1] == after[0] for one, after in pairwise(ends))
        assert missed(pieces, answer) <= ALLOWED[answer]
    lengths = [end - start for answer, start, end in pieces if answer == 0]
    assert min(lengths) <= 1 / 32 and max(lengths) == 1 / 2, "short only around the jump"
    assert len([piece for piece in pieces if piece[0] == 1]) == 1, "an even score needs one piece"


def test_a_plan_keeps_to_its_number_of_pieces(read):
    path = ScorePath(QUESTION, 1000)
    assert len(plan(path, ALLOWED, RULE, 4)) == 4
    assert len(plan(path, ALLOWED, RULE, 0)) == 2, "one per prediction at least"


def test_the_change_of_a_score_is_the_one_that_was_read(read):
    path = ScorePath(QUESTION, 1000)
    path.read([0.1])
    wanted = scores(torch.tensor([0.1, 1.0]).double())
    assert path.change(1, 0.1, 1.0) == pytest.approx(float(wanted[1, 1] - wanted[0, 1]))
