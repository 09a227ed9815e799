"""The loop on a model of two numbers: what it does with accumulation, bad gradients, validation and a stop."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from seqloom.config import TrainConfig
from seqloom.errors import Interrupted, TrainingError
from seqloom.nn.loss import Loss
from seqloom.progress import make_progress
from seqloom.runtime.checkpoints import list_checkpoints, newest_checkpoint
from seqloom.training.clock import Clock
from seqloom.training.loop import Loop, steps_to_average
from seqloom.training.metrics_log import MetricsLog
from seqloom.training.objective import Objective, Surroundings
from seqloom.training.optimizers import OPTIMIZERS
from seqloom.training.signals import StopFlag
from seqloom.training.state import RunState


class Numbers:
    """Epochs of four batches, each a list of numbers; `bad` ones are not finite."""

    def __init__(self, bad: bool = False) -> None:
        self.bad = bad

    def epoch(self, number: int) -> list[list[float]]:
        order = torch.randperm(4, generator=torch.Generator().manual_seed(number)).tolist()
        return [[float(i), i + 1.0] for i in order]

    def load(self, indices: list[float]) -> torch.Tensor:
        return torch.tensor(indices) * (float("nan") if self.bad else 1.0)

    def where(self, indices: list[float]) -> list[str]:
        return [f"numbers:{number:.0f}" for number in indices]


class Line(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.5, -0.5]))

    def loss(self, x: torch.Tensor, progress: float) -> Loss:
        noise = torch.rand(()) * 0.1  # stands for dropout: the seed of the step must decide it
        total = ((self.w[0] * x + self.w[1] - 3 * x).square() * (1 + noise)).sum()
        return Loss(total, total.detach(), len(x))


open_logs: list[MetricsLog] = []


@pytest.fixture(autouse=True)
def close_logs() -> Iterator[None]:
    yield
    while open_logs:
        open_logs.pop().close()


def make_loop(folder: Path, batches: Any = None, validate: Any = None, stop: Any = None, **settings: Any) -> Loop:
    config = TrainConfig(**{"schedule": "constant", "warmup": 1, "log_every": 1, "learning_rate": 0.01, **settings})
    model = Line()
    folder.mkdir(exist_ok=True)
    open_logs.append(MetricsLog(folder))
    objective = Objective(
        model,
        model.loss,
        batches or Numbers(),
        validate or (lambda state, stop: {"loss": 1.0 / state.step, "scores": {"bleu": 1.0}}),
    )
    around = Surroundings(
        folder / "checkpoints",
        open_logs[-1],
        make_progress("train", quiet=True),
        Clock(config, None, 0.0, time.monotonic()),
        StopFlag() if stop is None else stop,
    )
    return Loop(config, objective, around)


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def test_a_validation_that_takes_too_much_of_a_budget_waits(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, max_steps=6, valid_every=2)
    loop.clock.may_validate = lambda: loop.state.step >= 4  # type: ignore[method-assign]
    loop.run()
    assert [event["step"] for event in events(tmp_path, "valid")] == [4, 6]


def test_a_budget_that_the_data_used_up_still_makes_one_update(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, schedule="cosine")
    loop.clock = Clock(loop.config, 1.0, 60.0, time.monotonic())
    assert loop.run() == "the budget is used"
    assert loop.state.step == 1
    assert events(tmp_path, "train")[0]["lr"] == pytest.approx(0.005)


def test_two_batches_accumulated_equal_one_of_both(tmp_path: Path) -> None:
    class Joined(Numbers):
        def epoch(self, number: int) -> list[list[float]]:
            plan = super().epoch(number)
            return [plan[0] + plan[1], plan[2] + plan[3]]

    def no_noise(loop: Loop) -> Loop:
        model = loop.model
        loop.loss_of = lambda x, _: Loss(*[(((model.w[0] - 3) * x + model.w[1]) ** 2).sum()] * 2, len(x))  # type: ignore
        return loop

    apart = no_noise(make_loop(tmp_path / "a", max_steps=2, accumulate=2))
    together = no_noise(make_loop(tmp_path / "b", batches=Joined(), max_steps=2))
    apart.run(), together.run()
    torch.testing.assert_close(apart.model.w, together.model.w)
    assert apart.state.epoch == together.state.epoch == 1


def test_epochs_follow_each_other_with_their_own_plans(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, max_epochs=3)
    assert "max_epochs" in loop.run()
    assert (loop.state.step, loop.state.epoch, loop.state.batch, loop.state.tokens) == (12, 3, 0, 24)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_resumed_from_any_step_ends_in_the_same_bits(tmp_path: Path, optimizer: str) -> None:
    settings = {"optimizer": optimizer, "learning_rate": 0.1}
    whole = make_loop(tmp_path / "whole", max_steps=9, **settings)
    whole.run()
    for stop_after in range(1, 9):
        folder = tmp_path / str(stop_after)
        first = make_loop(folder, max_steps=stop_after, save_every=1, **settings)
        first.run()
        assert not torch.equal(first.model.w, whole.model.w)
        second = make_loop(folder, max_steps=9, **settings)
        checkpoint = newest_checkpoint(folder / "checkpoints", warn=pytest.fail)
        assert checkpoint is not None
        second.resume(checkpoint)
        second.run()
        assert torch.equal(second.model.w, whole.model.w)


def test_the_loss_is_told_how_far_the_run_is(tmp_path: Path) -> None:
    """Scheduled sampling grows with it; it is the same after a resume."""
    for settings, want in [({"max_steps": 4}, [0, 0.25, 0.5, 0.75]), ({"max_epochs": 1}, [0, 0.25, 0.5, 0.75])]:
        loop, seen = make_loop(tmp_path / next(iter(settings)), **settings), []
        original = loop.loss_of
        loop.loss_of = lambda x, progress, seen=seen, original=original: seen.append(progress) or original(x, progress)
        loop.run()
        assert seen == want


def test_a_bad_gradient_changes_nothing_and_twenty_end_the_run(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, batches=Numbers(bad=True), max_steps=100)
    before = loop.model.w.clone()
    with pytest.raises(
        TrainingError, match=r"20 steps in a row.*before the first checkpoint: nothing is kept\..*learning_rate"
    ):
        loop.run()
    assert torch.equal(loop.model.w, before)
    skipped = events(tmp_path, "skipped")
    assert len(skipped) == 20
    assert all(len(event["lines"]) == 2 and event["lines"][0].startswith("numbers:") for event in skipped)


def test_nothing_is_saved_while_it_diverges(tmp_path: Path) -> None:
    class Later(Numbers):
        seen = 0

        def load(self, indices: list[float]) -> torch.Tensor:
            self.seen += 1
            return torch.tensor(indices) * (float("nan") if self.seen > 6 else 1.0)

    loop = make_loop(tmp_path, batches=Later(), max_steps=100, save_every=2, keep=1, average=1)
    with pytest.raises(TrainingError, match="last checkpoint from before, of step 6, is kept"):
        loop.run()
    assert list_checkpoints(tmp_path / "checkpoints") == [6]
    assert all(event["loss"] != "nan" for event in events(tmp_path, "train")[:6])


def test_a_single_bad_step_is_forgotten(tmp_path: Path) -> None:
    class Once(Numbers):
        seen = 0

        def load(self, indices: list[float]) -> torch.Tensor:
            self.seen += 1
            return torch.tensor(indices) * (float("inf") if self.seen % 2 else 1.0)

    loop = make_loop(tmp_path, batches=Once(), max_steps=60)
    loop.run()
    assert loop.state.skipped == 30
    assert torch.isfinite(loop.model.w).all()


def test_what_a_bad_step_would_carry_on_is_dropped(tmp_path: Path) -> None:
    class Once(Numbers):
        seen = 0

        def load(self, indices: list[float]) -> torch.Tensor:
            self.seen += 1
            return torch.tensor(indices) * (float("inf") if self.seen == 3 else 1.0)

    dropped_at: list[int] = []
    loop = make_loop(tmp_path, batches=Once(), max_steps=6)
    loop.task = SimpleNamespace(drop_carried=lambda: dropped_at.append(loop.state.step), carried=dict)  # type: ignore
    loop.run()
    assert (loop.state.skipped, dropped_at) == (1, [2])


def test_clipping_is_measured_and_logged(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, max_steps=4, clip_norm=1e-3)
    loop.run()
    last = events(tmp_path, "train")[-1]
    assert last["clipped_share"] == 1.0
    assert last["gradient_norm"] > 1e-3


def test_the_share_of_clipped_steps_is_that_of_the_norms_above_the_limit(tmp_path: Path) -> None:
    make_loop(tmp_path / "free", max_steps=12, clip_norm=0).run()
    free = events(tmp_path / "free", "train")
    assert [event["clipped_share"] for event in free] == [0.0] * 12
    limit = sorted(event["gradient_norm"] for event in free)[6]
    make_loop(tmp_path / "clipped", max_steps=12, clip_norm=limit).run()
    found = events(tmp_path / "clipped", "train")
    above = [event["gradient_norm"] > limit for event in found]
    assert 0 < sum(above) < 12
    assert [event["clipped_share"] for event in found] == [sum(above[:step]) / step for step in range(1, 13)]


def test_a_stop_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    stop = StopFlag()
    loop = make_loop(tmp_path, stop=stop, max_steps=100, save_every=50)
    original, seen = loop.loss_of, []

    def loss_of(batch: torch.Tensor, progress: float) -> Any:
        seen.append(batch)
        stop.signal = 2 if len(seen) == 7 else 0
        return original(batch, progress)

    loop.loss_of = loss_of
    with pytest.raises(Interrupted, match="same command") as caught:
        loop.run()
    assert caught.value.exit_code == 130
    assert list_checkpoints(tmp_path / "checkpoints") == [7]


def test_a_stop_before_the_first_step_claims_nothing(tmp_path: Path) -> None:
    stop = StopFlag()
    stop.signal = 2
    with pytest.raises(Interrupted, match="stopped before the first step: nothing was trained"):
        make_loop(tmp_path, stop=stop, max_steps=3).run()
    assert list_checkpoints(tmp_path / "checkpoints") == []


def test_a_stop_during_validation_leaves_it_due(tmp_path: Path) -> None:
    stop = StopFlag()

    def validate(state: RunState, flag: StopFlag) -> None:
        stop.signal = 15

    loop = make_loop(tmp_path, validate=validate, stop=stop, max_steps=9, valid_every=3)
    with pytest.raises(Interrupted):
        loop.run()
    stop.signal = 0
    again = make_loop(tmp_path, max_steps=9, valid_every=3)
    checkpoint = newest_checkpoint(tmp_path / "checkpoints", warn=pytest.fail)
    assert checkpoint is not None
    assert checkpoint.step == 3
    again.resume(checkpoint)
    again.run()
    assert sorted(again.state.valid_losses) == [3, 6, 9]


def test_what_is_averaged_does_not_depend_on_an_interruption(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, max_steps=10, save_every=3, valid_every=100, keep=2, average=3)
    loop.run()
    loop.finish()
    assert steps_to_average(tmp_path / "checkpoints", loop.state, loop.config) == [6, 9, 10]
    loop.state.step = 11  # as if more steps came: the unscheduled checkpoint of 10 does not count
    assert steps_to_average(tmp_path / "checkpoints", loop.state, loop.config) == [6, 9, 11]


def test_the_best_checkpoints_are_kept(tmp_path: Path) -> None:
    losses = {2: 3.0, 4: 1.0, 6: 2.0, 8: 4.0, 10: 5.0}
    loop = make_loop(
        tmp_path,
        validate=lambda state, stop: {"loss": losses[state.step]},
        max_steps=10, valid_every=2, save_every=2, keep=1, average=2, average_of="best",
    )  # fmt: skip
    loop.run()
    assert list_checkpoints(tmp_path / "checkpoints") == [4, 6, 10]
    assert steps_to_average(tmp_path / "checkpoints", loop.state, loop.config) == [4, 6]
