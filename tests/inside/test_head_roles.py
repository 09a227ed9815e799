"""Roles of heads: hand-made weights have the roles they were made with; means over sentences are means."""

import numpy as np
import pytest

from seqloom.inside.heads import best_role, is_punctuation, mean_roles, roles_of, with_even_head

PIECES = ["", "▁a", "▁cat", ".", ""]


def made(*rows):
    """One head (1, T, S) from the place each token looks at."""
    return np.eye(5, dtype=np.float32)[list(rows)][None]


def roles(name, weights, pieces=PIECES, head=0):
    both = with_even_head(name, weights)
    return {role: float(given[head].mean()) for role, given in roles_of(name, both, pieces)}


@pytest.mark.parametrize(
    ("name", "weights", "role"),
    [
        ("encoder.self.0", made(4, 0, 1, 2, 3), "previous"),
        ("encoder.self.0", made(1, 2, 3, 4, 0), "next"),
        ("encoder.self.0", made(0, 1, 2, 3, 4), "same"),
        ("encoder.self.0", made(2, 0, 0, 0, 0), "first"),
        ("encoder.self.0", made(4, 4, 4, 4, 4), "last"),
        ("encoder.self.0", made(3, 3, 3, 3, 3), "punctuation"),
        ("decoder.self.0", made(0, 0, 1, 2, 3), "previous"),
        ("decoder.cross.0", made(4, 4, 4), "last"),
        ("decoder.cross.0", made(0, 2, 4), "diagonal"),
        ("decoder.cross.0", made(3, 3, 3), "punctuation"),
        ("encoder.self.0", np.full((1, 5, 5), 0.2, np.float32), "spread"),
        ("encoder.self.0", (made(0, 2, 1, 4, 3) + made(2, 0, 4, 1, 1) + made(3, 4, 0, 0, 2)) / 3, "mixed"),
    ],
)
def test_a_head_gets_the_role_it_was_made_with(name, weights, role):
    assert best_role(roles(name, weights), roles(name, weights, head=-1)) == role


def test_in_a_short_sentence_an_even_head_has_no_role():
    """Half of the weight on the token before is what everyone gives it where there are two tokens."""
    for name in ("encoder.self.0", "decoder.cross.0"):
        even = np.full((1, 2, 2), 0.5, np.float32)
        found = roles(name, even, ["a", "b"])
        assert found["first"] == 0.5
        assert best_role(found, roles(name, even, ["a", "b"], head=-1)) == "spread"
    back = np.array([[[1, 0], [0.5, 0.5]]], np.float32)
    assert (
        best_role(roles("decoder.self.0", back, ["a", "b"]), roles("decoder.self.0", back, ["a", "b"], head=-1))
        == "spread"
    )


def test_a_role_is_the_mean_weight():
    weights = np.array([[[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0.1, 0.2, 0.7]]], np.float32)
    found = roles("encoder.self.0", weights, ["a", ",", "b"])
    assert found["previous"] == pytest.approx((0.25 + 0.2) / 2)
    assert found["next"] == pytest.approx((0.5 + 0.25) / 2)
    assert found["same"] == pytest.approx((0.5 + 0.5 + 0.7) / 3)
    assert found["first"] == pytest.approx((0.25 + 0.1) / 2)
    assert found["last"] == pytest.approx((0 + 0.25 + 0.7) / 3)
    assert found["punctuation"] == pytest.approx((0.5 + 0.5 + 0.2) / 3)
    entropy = [-sum(p * np.log(p) for p in row if p) for row in weights[0].tolist()]
    assert found["spread"] == pytest.approx(np.mean(entropy) / np.log(3))
    even = roles("encoder.self.0", weights, ["a", ",", "b"], head=-1)
    assert even == pytest.approx({role: 1 if role == "spread" else 1 / 3 for role in found}, abs=1e-6)
    across = roles("decoder.cross.0", np.array([[[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]]], np.float32), ["a"] * 4)
    assert across["diagonal"] == pytest.approx((0.5 + 0.3 + 0.3 + 0.4) / 2)
    assert across["first"] == pytest.approx((0.5 + 0.1) / 2)


def test_a_decoder_looks_only_back():
    even = np.tril(np.ones((4, 4), np.float32))
    even = (even / even.sum(-1, keepdims=True))[None]
    found = roles("decoder.self.0", even, ["", "a", ".", "b"])
    assert {"next", "last"}.isdisjoint(found)
    assert found["spread"] == pytest.approx(1)  # even over what it can see
    assert found["punctuation"] == pytest.approx((1 / 3 + 1 / 4) / 2)  # the first two tokens cannot see it


def test_punctuation():
    assert [is_punctuation(piece) for piece in (".", "▁,", "…", "a.", "", "▁", "</s>", "¿")] == [
        True, True, True, False, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("family", ["transformer", "gpt", "masked", "gpt language"])
def test_roles_are_measured_over_the_sentences(load, family):
    model = load(family)
    texts = ["a cat .", "the dog ran , and"]
    (lane,) = model.explain("sat", views=["heads"], sentences=texts).lanes
    assert lane.heads.sentences == 2
    maps = {"transformer": 6, "gpt": 6, "masked": 2, "gpt language": 2}[family]
    assert len(lane.heads.heads) == maps * 2
    from seqloom.inside.samples import samples_of

    samples = samples_of(model, texts)
    for head in lane.heads.heads:
        assert head.roles == pytest.approx(mean_roles(head.map, samples)[head.head])
        assert all(0 <= weight <= 1 + 1e-6 for weight in head.roles.values())
        if ".self." in head.map:
            diagonal = [np.diagonal(sample.recorded[head.map][head.head]) for sample in samples]
            assert head.roles["same"] == pytest.approx(np.concatenate(diagonal).mean(), abs=1e-6)


def test_without_sentences_a_note_says_so(load):
    (lane,) = load("transformer").explain("a cat", views=["heads"]).lanes
    assert lane.heads.sentences == 1
    assert any("--sentences" in note for note in lane.notes)
