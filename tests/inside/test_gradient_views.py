"""The views gradients, attribution and beam on every kind of model that has them."""

import re

import numpy as np
import pytest

from seqloom.errors import UsageError
from seqloom.inside import integrated_gradients
from seqloom.inside.input_gradients import Question, input_gradients
from seqloom.inside.prepare import prepare
from seqloom.inside.views import VIEWS

TEXT, MASKED = "a cat sat", "a ___ sat"


def lane_of(load, family, view, **options):
    (lane,) = load(family).explain(MASKED if family == "masked" else TEXT, views=[view], **options).lanes
    return lane


@pytest.mark.parametrize("view", ["gradients", "attribution"])
def test_every_family_has_it(load, family, view):
    lane = lane_of(load, family, view)
    found = [one for one in lane.maps if one.view == view]
    assert found
    for one in found:
        assert one.axes[0] == "target"
        assert one.shape[0] == len(lane.steps)
        assert np.isfinite(one.values).all()
    writes = bool(lane.source.tokens) and lane.target is not None
    axes = {one.axes[1] for one in found}
    assert axes == ({"source", "prefix"} if writes else {"source"} if lane.source.tokens else {"prefix"})


def test_trained_and_fresh_weights_flow_differently(load, family):
    lane = lane_of(load, family, "gradients")
    names = {one.name for one in lane.maps}
    assert {one.name for one in lane.maps if not one.trained} == names
    for name in names:
        assert not np.allclose(lane.map(name).values, lane.map(name, trained=False).values)
    again = lane_of(load, family, "gradients")
    assert again == lane  # the fresh weights are those of the run's seed, and drawing them disturbs nothing


def test_the_share_of_the_source_is_in_the_steps(load):
    lane = lane_of(load, "transformer", "attribution")
    source, prefix = (np.abs(lane.map(f"attribution.integrated.{axis}").values).sum(1) for axis in ("source", "prefix"))
    assert [step.source_share for step in lane.steps] == pytest.approx((source / (source + prefix)).tolist(), abs=1e-5)
    assert any(note.startswith("attribution: integrated gradients with") for note in lane.notes)


def gaps_and_changes(load, family, lane):
    """|sum of the attributions of the document - change of log p| and that change, per prediction."""
    question = Question.of(prepare(load(family), MASKED if family == "masked" else TEXT))
    text, average = input_gradients(question, (1.0, 0.0))
    changes = (text.log_prob - average.log_prob).numpy()
    sums = sum(one.values.sum(1) for one in lane.maps if one.name.startswith("attribution.integrated"))
    return np.abs(sums - changes), changes


def stated_gap(lane):
    (note,) = [note for note in lane.notes if note.startswith("attribution: integrated gradients with")]
    return float(re.search(r"by at most (\S+) nats", note)[1]), note


def test_the_attributions_of_a_prediction_add_up_and_the_note_says_how_well(load, family):
    lane = lane_of(load, family, "attribution")
    gaps, changes = gaps_and_changes(load, family, lane)
    assert (gaps <= integrated_gradients.GAP * np.maximum(1, np.abs(changes))).all()
    assert stated_gap(lane)[0] == pytest.approx(gaps.max(), rel=0.06, abs=1e-4)
    assert "too long" not in stated_gap(lane)[1]


def test_a_text_too_long_for_more_points_says_so(load, monkeypatch):
    monkeypatch.setattr(integrated_gradients, "GAP", 1e-6)
    monkeypatch.setattr(integrated_gradients, "MOST_WORK", 1)
    lane = lane_of(load, "transformer", "attribution")
    gaps, _ = gaps_and_changes(load, "transformer", lane)
    gap, note = stated_gap(lane)
    assert gap == pytest.approx(gaps.max(), rel=0.06, abs=1e-4)
    assert "4 to 4 points" in note
    assert note.endswith("too long for more points.")


def test_agreement_with_attention_has_a_control(load):
    (first, *_) = lane_of(load, "rnn", "attribution").agreement
    assert first.first == "attention"
    assert -1 <= first.tau <= 1
    assert -1 <= first.control <= 1
    assert lane_of(load, "fixed", "attribution").agreement == []


@pytest.mark.parametrize("family", ["rnn", "fixed", "transformer", "gpt"])
def test_the_tree_holds_the_answer_and_judges_a_reference(load, family):
    lane = lane_of(load, family, "beam", reference="le chat")
    best = [node.token.id for node in lane.beam.nodes if node.best]
    assert best == [token.id for token in lane.target.tokens][: len(best)]
    assert lane.beam.verdict.startswith(("found", "model error", "search error"))
    assert len(lane.beam.reference) >= 2
    assert lane_of(load, family, "beam").beam.verdict == ""


@pytest.mark.parametrize("view", ["gradients", "attribution"])
def test_a_text_that_would_take_minutes_is_refused(load, monkeypatch, view):
    monkeypatch.setattr("seqloom.inside.input_gradients.MOST_WORK", 20)
    with pytest.raises(UsageError, match="this text is too long for it"):
        lane_of(load, "rnn", view)


def test_every_view_has_a_sentence_of_help():
    for view in VIEWS.values():
        assert view.help[0].islower()
