"""Alternatives far below the best are not shown: what is left of a date is a date."""

from types import SimpleNamespace

import pytest

from seqloom.runtime.parts import Translation
from seqloom.serve.finding import FAR_BELOW, Wanted, different, make_find


def said(text: str, log_prob: float) -> Translation:
    return Translation(text, log_prob, log_prob)


def test_those_far_below_are_left_out():
    """By the mean per token: a long sentence may lose more in all than a short one."""
    best, near, far = (
        said("1998-07-14", 0.0),
        said("1988-07-14", -FAR_BELOW * 9.9),
        said("998-07-14", -FAR_BELOW * 10.2),
    )
    found = different([best, near, far, near], best, lambda one: one.log_prob / 10)
    assert found == ["1988-07-14"]


@pytest.fixture
def finder():
    """A translator whose alternatives for `text` are given; one token per character."""

    def make(best: Translation, others: list[Translation]):
        translator = SimpleNamespace(
            tokenizers=SimpleNamespace(target=SizedTokens()),
            answer=lambda texts, request, warn: [[best, *others] if request.alternatives else [best] for _ in texts],
        )
        return make_find(translator)

    return make


class SizedTokens:
    def __len__(self) -> int:
        return 99

    def encode(self, text: str) -> list[str]:
        return [*text]


def test_a_server_shows_only_near_ones(finder):
    """Figures of the demo's model for two dates: 0.41 nats per token below is near, 0.84 is far."""
    others = [said("1952-05-15", -4.47), said("2098-07-14", -9.24), said("998-07-14", -8.93)]
    [found] = finder(said("1998-07-14", 0.0), others)(["x"], Wanted(alternatives=3))
    assert found.alternatives == ["1952-05-15"]
    assert found.hypotheses[0].text == "1998-07-14"
