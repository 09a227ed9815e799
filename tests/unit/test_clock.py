import time

import pytest

from seqloom.config import TrainConfig
from seqloom.errors import ModelError, UsageError
from seqloom.training.clock import Clock, parse_duration
from seqloom.training.state import RunState, seed_of


def make_clock(budget: float | None = None, spent: float = 0.0, **settings: int) -> Clock:
    return Clock(TrainConfig(**settings), budget, spent, time.monotonic())


def test_durations() -> None:
    assert [parse_duration(text) for text in ("90", "45s", "20m", "1h30m", "2h")] == [90, 45, 1200, 5400, 7200]


@pytest.mark.parametrize("text", ["", "0", "soon", "-5m", "1.5h", "m", "1h30", "5m30"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="20m"):
        parse_duration(text)


def test_the_nearest_limit_is_the_progress() -> None:
    state = RunState(step=50, epoch=1, batch=5)
    assert make_clock(max_steps=100).progress(state, 10) == 0.5
    assert make_clock(max_steps=100, max_epochs=2).progress(state, 10) == 0.75
    assert make_clock().progress(state, 10) == 0.0


def test_a_budget_keeps_time_for_the_end() -> None:
    clock = make_clock(budget=100.0, spent=90.0)
    assert clock.reason_to_end(RunState()) == ""
    clock.keep_free(20.0)
    assert "budget" in clock.reason_to_end(RunState())
    assert clock.progress(RunState(step=1), 1) == 1.0


def test_the_first_update_is_not_made_at_the_rate_of_the_end() -> None:
    late = make_clock(budget=10.0, spent=30.0)
    assert late.progress(RunState(), 1) == 0.5
    assert late.progress(RunState(step=1), 1) == 1.0


def test_with_a_budget_a_tenth_of_the_time_goes_into_validations() -> None:
    clock = make_clock(budget=1000.0, spent=100.0)
    assert clock.may_validate()
    clock.validated(30.0)
    assert not clock.may_validate()
    clock.spent = 310.0
    assert clock.may_validate()
    without = make_clock(spent=100.0)
    without.validated(90.0)
    assert without.may_validate()


def test_reasons_to_end() -> None:
    assert "max_steps" in make_clock(max_steps=5).reason_to_end(RunState(step=5))
    assert "max_epochs" in make_clock(max_epochs=2).reason_to_end(RunState(epoch=2))
    assert make_clock(max_steps=5).reason_to_end(RunState(step=4)) == ""


def test_patience_counts_validations_after_the_best() -> None:
    state = RunState(valid_losses={10: 2.0, 20: 1.0, 30: 1.5, 40: 1.0})
    assert state.best_step == 20
    assert make_clock(patience=2).reason_to_end(state)
    assert not make_clock(patience=3).reason_to_end(state)


def test_a_loss_that_is_no_number_is_never_the_best() -> None:
    assert RunState(valid_losses={5: float("nan"), 10: 2.0, 15: float("nan")}).best_step == 10


def test_a_state_of_another_version_is_named() -> None:
    with pytest.raises(ModelError, match="another version"):
        RunState.from_json({**RunState().to_json(), "moods": 3})


def test_the_state_survives_json() -> None:
    import json

    state = RunState(step=7, valid_losses={5: 1.25}, samples=["é"])
    assert RunState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_seeds_differ_by_every_number() -> None:
    seeds = {seed_of(a, b, c) for a in range(5) for b in range(5) for c in range(5)}
    assert len(seeds) == 125
    assert all(0 <= seed < 2**63 for seed in seeds)
