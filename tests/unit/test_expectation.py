import time

import pytest

from seqloom.config import TrainConfig
from seqloom.training.clock import Clock
from seqloom.training.expectation import expect
from seqloom.training.speed import Timer
from seqloom.training.state import RunState


@pytest.mark.parametrize(
    ("accumulate", "per_epoch", "wanted"),
    [
        (1, 100, "budget: enough for about 200 updates, 2 epochs"),
        (2, 100, "budget: enough for about 200 updates, 3.8 epochs"),
        (1, 1000, "budget: enough for about 200 updates, 0.2 epochs. Expect little"),
    ],
)
def test_the_speed_of_the_first_updates_says_how_far_a_budget_goes(
    accumulate: int, per_epoch: int, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1010.0)
    clock = Clock(TrainConfig(), 100.0, 0.0, 1000.0)  # 10 s of 100 are spent
    clock.keep_free(0.0)
    state = RunState(step=20, batch=20)
    text = expect(state, TrainConfig(accumulate=accumulate), clock, Timer(updates=20, began=1000.0), per_epoch)
    assert text.startswith(wanted)
    assert ("Expect" in text) == ("Expect" in wanted)
