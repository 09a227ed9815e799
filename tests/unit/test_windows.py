"""Windows of running text: every token is predicted once, lanes are continuous, (seed, epoch) decides the order."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seqloom.data.language_windows import StoredText, StreamBatches, as_stream, cut_apart, cut_in_order, cut_lanes
from seqloom.errors import UsageError
from seqloom.text.vocabulary import EOS

LINES = [[5, 6, 7], [], [8, 9], [4] * 9, [5], [6, 7, 8, 9, 10, 11], [], [12, 13, 14]]


def covered(cuts: list[Any]) -> list[int]:
    """The places of all that is read, as a list: what comes twice is there twice."""
    return sorted(place for cut in cuts for start in cut.starts for place in range(start, start + cut.length))


def test_a_stream_begins_and_ends_with_a_line_end() -> None:
    assert as_stream([[5, 6], [], [7]]).tolist() == [EOS, 5, 6, EOS, EOS, 7, EOS]


@pytest.mark.parametrize(("num_tokens", "window", "rows"), [(100, 8, 3), (7, 8, 3), (8, 8, 1), (9, 8, 4), (1, 2, 2)])
def test_in_order_every_token_comes_once(num_tokens: int, window: int, rows: int) -> None:
    for cuts in (cut_in_order(num_tokens, window, rows, window), cut_lanes(num_tokens, window, rows, None)):
        assert covered(cuts) == list(range(num_tokens))
        assert all(1 <= len(cut.starts) <= rows and 1 <= cut.length <= window for cut in cuts)
    places = [start for cut in cut_in_order(num_tokens, window, rows, window) for start in cut.starts]
    assert places == sorted(places)


@pytest.mark.parametrize("num_tokens", [5, 8, 9, 30, 31])
def test_overlapping_windows_give_each_token_half_a_window_before_it(num_tokens: int) -> None:
    cuts = cut_in_order(num_tokens, 8, 3, stride=4)
    most_before = dict.fromkeys(range(num_tokens), -1)
    for cut in cuts:
        for start in cut.starts.tolist():
            for place in range(start, start + cut.length):
                most_before[place] = max(most_before[place], place - start)
    assert all(before >= min(place, 4) for place, before in most_before.items())


def test_apart_windows_do_not_overlap_and_begin_anywhere() -> None:
    phases = set()
    for epoch in range(40):
        cuts = cut_apart(100, 8, 3, np.random.default_rng(epoch))
        places = covered(cuts)
        assert len(places) == len(set(places)) and set(places) <= set(range(100))
        assert {(len(cut.starts), cut.length, cut.fresh) for cut in cuts} == {(3, 8, True)}
        phases.add(min(places) % 8)
        order = [start for cut in cuts for start in cut.starts]
        assert order != sorted(order)
    assert phases == set(range(8))


@pytest.mark.parametrize("num_tokens", [1, 7, 8, 9, 10, 17])
def test_a_short_text_is_still_read(num_tokens: int) -> None:
    for epoch in range(10):
        for cut in (cut_apart, cut_lanes):
            cuts = cut(num_tokens, 8, 4, np.random.default_rng(epoch))
            assert cuts and set(covered(cuts)) <= set(range(num_tokens))


def test_lanes_go_on_from_window_to_window() -> None:
    cuts = cut_lanes(103, 8, 4, np.random.default_rng(3))
    assert [cut.fresh for cut in cuts] == [True] + [False] * (len(cuts) - 1)
    for before, after in itertools.pairwise(cuts):
        assert (before.starts + before.length == after.starts).all()
    lengths = [cut.length for cut in cuts]
    assert set(lengths[:-1]) == {8} and sum(lengths) == cuts[0].starts[1] - cuts[0].starts[0]


def test_what_is_read_is_followed_by_what_is_to_be_said() -> None:
    batches = StreamBatches(np.arange(50, dtype=np.uint16), 6, 3, carries=False, seed=5)
    plan = batches.epoch(2)
    batch = batches.load(plan[0])
    assert batch.inputs.shape == (3, 6) and batch.inputs.dtype == batch.targets.dtype
    assert (batch.targets == batch.inputs + 1).all()
    assert batch.inputs[:, 0].tolist() == plan[0].starts.tolist()


@pytest.mark.parametrize("carries", [False, True])
def test_a_plan_follows_from_seed_and_epoch(carries: bool) -> None:
    def places(seed: int, epoch: int) -> list[list[int]]:
        batches = StreamBatches(np.arange(300), 7, 3, carries=carries, seed=seed)
        batches.epoch(epoch + 1)  # another one in between changes nothing
        return [cut.starts.tolist() for cut in batches.epoch(epoch)]

    assert places(1, 4) == places(1, 4)
    assert len({str(places(1, epoch)) for epoch in range(9)}) > 3
    assert len({str(places(seed, 0)) for seed in range(9)}) > 3


class Lines:
    """As much of a Store as a stream needs."""

    def __init__(self, part: str, weights: list[float]) -> None:
        self.part, self.weights = part, weights
        self.source_lengths = np.array([len(line) for line in LINES], np.int32)
        self.line_end = EOS

    def take(self, side: str, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ids = [token for index in indices for token in LINES[index]]
        return np.array(ids, np.uint16), self.source_lengths[indices].astype(np.int64)

    def where(self, index: int) -> str:
        return f"plays.txt:{index + 1}"


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_a_store_is_read_as_a_stream(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.data.language_windows.LINES_AT_ONCE", at_once)
    store: Any = Lines("train", [1.0])
    text = StoredText(store, 4, 12, carries=False, seed=1)
    assert text.stream.tolist() == as_stream(LINES).tolist() and text.rows == 3
    store.line_end = 99  # of a tokenizer that has its own
    own = StoredText(store, 4, 12, carries=False, seed=1).stream.tolist()
    assert own == as_stream(LINES, 99).tolist() == [EOS, *(99 if token == EOS else token for token in text.stream[1:])]
    cut = SimpleNamespace(starts=np.array([0, 3, 4, 5, 7, 17]), length=4)
    lines = [1, 1, 2, 3, 3, 4]  # of the first token that is foreseen
    assert text.where(cut) == [f"plays.txt:{line}" for line in lines]


def test_the_validation_part_is_read_in_order() -> None:
    store: Any = Lines("valid", [1.0])
    for carries in (False, True):
        text = StoredText(store, 4, 12, carries=carries, seed=0)
        assert covered(text.epoch(0)) == list(range(len(text.stream) - 1))


def test_a_weight_is_refused() -> None:
    store: Any = Lines("train", [1.0, 2.0])
    with pytest.raises(UsageError, match="leave the weight out"):
        StoredText(store, 4, 12, carries=False, seed=0)
