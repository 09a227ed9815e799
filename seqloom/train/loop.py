"""The training loop. It knows no model, no task and no metric: it is given a loss, batches and a validation.

    for each step:  seed from (seed, step) -> gradients of `accumulate` batches -> clip -> update -> validate? -> save?

Everything the next step depends on is in the weights, the optimizer and RunState, so a run that is killed anywhere and
started again from its last checkpoint makes the same weights, bit for bit.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from seqloom.config import TrainConfig
from seqloom.errors import Interrupted, TrainingError
from seqloom.train.checkpoint import Checkpoint, list_checkpoints, prune_checkpoints, save_checkpoint
from seqloom.train.clock import Clock
from seqloom.train.log import MetricsLog
from seqloom.train.optim import (
    learning_rate,
    load_optimizer_tensors,
    make_optimizer,
    optimizer_tensors,
    scale_and_clip,
    set_rate,
)
from seqloom.train.progress import Progress
from seqloom.train.signals import StopFlag
from seqloom.train.state import RunState, seed_of

MOST_SKIPPED_IN_A_ROW = 20
NAMED = 5  # lines named in a message; the log names all


class Plan(Protocol):
    """The batches of one epoch, as what `Batches.load` takes."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Batches(Protocol):
    """Epochs of batches: `epoch(e)` plans one, `load(indices)` reads a batch, `where(indices)` names its lines."""

    def epoch(self, number: int) -> Plan: ...
    def load(self, indices: Any) -> Any: ...
    def where(self, indices: Any) -> list[str]: ...


class Carrier(Protocol):
    """What is carried from one batch to the next beside weights and optimizer: saved with them (`tasks.api.Task`)."""

    def carried(self) -> dict[str, torch.Tensor]: ...
    def carry_on(self, tensors: dict[str, torch.Tensor]) -> None: ...
    def drop_carried(self) -> None: ...


class LossSums(Protocol):
    """Sums over the tokens of a batch."""

    @property
    def smoothed(self) -> torch.Tensor: ...
    @property
    def nll(self) -> torch.Tensor: ...
    @property
    def num_tokens(self) -> int: ...


class Loop:
    def __init__(
        self,
        config: TrainConfig,
        model: nn.Module,
        loss_of: Callable[[Any, float], LossSums],
        batches: Batches,
        validate: Callable[[RunState, StopFlag], dict[str, Any] | None],
        *,
        folder: Path,
        log: MetricsLog,
        progress: Progress,
        clock: Clock,
        stop: StopFlag,
        task: Carrier | None = None,
        flops_a_second: float = 0.0,
        flops_a_token: float = 0.0,
    ) -> None:
        self.config, self.model, self.loss_of, self.batches, self.validate = config, model, loss_of, batches, validate
        self.folder, self.log, self.progress, self.clock, self.stop = folder, log, progress, clock, stop
        self.flops_a_second, self.flops_a_token, self.task = flops_a_second, flops_a_token, task
        self.optimizer = make_optimizer(model, config)
        self.state = RunState()
        self.plan = batches.epoch(0)
        self.saved_step = 0
        self.timer = Timer()

    def resume(self, checkpoint: Checkpoint) -> None:
        self.model.load_state_dict(checkpoint.tensors("model"))
        load_optimizer_tensors(self.model, self.optimizer, checkpoint.tensors("optimizer"))
        if self.task and checkpoint.has("task"):
            self.task.carry_on(checkpoint.tensors("task"))
        self.state = RunState.from_json(checkpoint.state)
        self.plan = self.batches.epoch(self.state.epoch)
        self.saved_step = self.state.step

    def run(self) -> str:
        """Train to the end and return why it ended; Interrupted when asked to stop, with everything saved."""
        self.model.train()
        state, config = self.state, self.config
        while True:
            if state.validation_due:
                self.run_validation()
            if is_scheduled(state.step, config) and not state.skipped_in_row:  # what may be diverging is not kept
                self.save()
            if self.stop:
                self.leave()
            if reason := self.clock.reason_to_end(state):
                if not state.step:
                    raise TrainingError(f"{reason} before the first step; nothing was trained. Give it more.")
                return reason
            self.update()
            state.validation_due = state.step % config.valid_every == 0 and self.clock.may_validate()

    def update(self) -> None:
        """One step: the gradients of `accumulate` batches, summed over tokens, then the optimizer's update."""
        state, config = self.state, self.config
        nll, tokens, used = 0.0, 0, []
        for part in range(config.accumulate):
            torch.manual_seed(seed_of(config.seed, state.step, part))
            progress = self.clock.progress(state, len(self.plan))
            used.append(self.next_indices())
            loss = self.loss_of(self.batches.load(used[-1]), progress)
            loss.smoothed.backward()
            nll, tokens = nll + loss.nll.item(), tokens + loss.num_tokens
        norm = scale_and_clip(self.model.parameters(), tokens, config.clip_norm)
        rate = learning_rate(
            config, state.step + 1, self.clock.progress(state, len(self.plan)), self.clock.budget is not None
        )
        if math.isfinite(norm) and math.isfinite(nll):
            set_rate(self.optimizer, rate)
            self.optimizer.step()
            state.skipped_in_row = 0
            state.clipped += bool(config.clip_norm) and norm > config.clip_norm
        else:
            self.skip(nll / tokens, norm, used)
            nll, tokens = 0.0, 0  # the log shows what was learnt from
        self.optimizer.zero_grad(set_to_none=False)  # the same memory, step after step
        state.step += 1
        state.tokens += tokens
        self.report(nll, tokens, norm, rate)

    def next_indices(self) -> Any:
        """The next batch of the plan; the plan of an epoch is a pure function of (seed, epoch)."""
        state = self.state
        indices = self.plan[state.batch]
        state.batch += 1
        if state.batch == len(self.plan):
            state.epoch, state.batch = state.epoch + 1, 0
            self.plan = self.batches.epoch(state.epoch)
        return indices

    def skip(self, loss: float, norm: float, used: list[Any]) -> None:
        """A non-finite loss or gradient changes nothing but the log; twenty in a row end the run."""
        state = self.state
        if self.task:
            self.task.drop_carried()  # it may be what is not finite, and would spoil every step after this one
        state.skipped += 1
        state.skipped_in_row += 1
        lines = [line for indices in used for line in self.batches.where(indices)]
        event = {"event": "skipped", "step": state.step + 1, "loss": loss, "gradient_norm": norm, "lines": lines}
        self.log.write(event)
        where = ", ".join(lines[:NAMED]) + (f" and {len(lines) - NAMED} more in the log" if len(lines) > NAMED else "")
        self.progress.message(
            f"step {state.step + 1}: loss {loss:.3g}, gradient norm {norm:.3g}: not finite, step skipped ({where})"
        )
        if state.skipped_in_row >= MOST_SKIPPED_IN_A_ROW:
            raise TrainingError(
                f"{MOST_SKIPPED_IN_A_ROW} steps in a row gave a loss or gradient that is not finite: it diverged. "
                f"Rolled back to step {self.saved_step}: the last checkpoint from before is kept. Try a lower "
                f"train.learning_rate (now {self.config.learning_rate:g}), a longer train.warmup "
                f"(now {self.config.warmup}) or {tell_clip_norm(self.config.clip_norm)} in a new --out."
            )

    def report(self, nll: float, tokens: int, norm: float, rate: float) -> None:
        state = self.state
        state.logged_nll, state.logged_tokens = state.logged_nll + nll, state.logged_tokens + tokens
        self.timer.tokens += tokens
        if state.step % self.config.log_every:
            return
        speed = self.timer.tokens_per_second()
        loss = state.logged_nll / state.logged_tokens if state.logged_tokens else math.nan
        mfu = speed * self.flops_a_token / self.flops_a_second if self.flops_a_second else 0.0
        self.log.write(
            {
                "event": "train", "step": state.step, "epoch": state.epoch, "loss": loss, "lr": rate,
                "gradient_norm": norm, "clipped_share": state.clipped / state.step, "tokens": state.tokens,
                "tokens_per_second": round(speed, 1), "mfu": round(mfu, 4), "seconds": round(self.clock.seconds(), 2),
            }
        )  # fmt: skip
        self.progress.update(state.step, {"loss": loss, "lr": rate, "tokens_per_second": speed, "mfu": mfu})
        state.logged_nll, state.logged_tokens, self.timer = 0.0, 0, Timer()

    def run_validation(self) -> None:
        """The validation of this step; a stop in the middle leaves it due, and the next start makes it up."""
        began = time.monotonic()
        self.model.eval()
        event = self.validate(self.state, self.stop)
        self.model.train()
        if event is None:
            return
        seconds = time.monotonic() - began
        self.state.validation_due = False
        self.state.valid_losses[self.state.step] = event["loss"]
        self.state.valid_scores = event.get("scores", {})
        told = {name: found for name, found in event.items() if name != "scores"} | self.state.valid_scores
        self.log.write({"event": "valid", "step": self.state.step, **told, "seconds": round(self.clock.seconds(), 2)})
        self.clock.validated(seconds)
        self.timer.leave_out(seconds)

    def finish(self) -> None:
        """The last step is validated and saved, whatever the schedule says."""
        if self.state.step not in self.state.valid_losses:
            self.run_validation()
        if self.stop and self.state.step not in self.state.valid_losses:
            self.leave()
        self.save()
        self.model.eval()

    def save(self) -> None:
        """A checkpoint of this step, unless there is one; old ones go."""
        state, config = self.state, self.config
        if self.saved_step == state.step:
            return
        began = time.monotonic()
        tensors = {
            "model": self.model.state_dict(),
            "optimizer": optimizer_tensors(self.model, self.optimizer),
        }
        if self.task and (carried := self.task.carried()):
            tensors["task"] = carried
        save_checkpoint(self.folder, state.step, tensors, {**state.to_json(), "seconds": self.clock.seconds()})
        self.saved_step = state.step
        prune_checkpoints(
            self.folder, config.keep, set(steps_to_average(self.folder, state, config)) | best_steps(state, 1)
        )
        self.timer.leave_out(time.monotonic() - began)

    def leave(self) -> None:
        if self.state.step:  # before the first step there is nothing to lose
            self.save()
        raise Interrupted(
            f"stopped after step {self.state.step}, saved. The same command goes on from there.", self.stop.exit_code
        )


def tell_clip_norm(now: float) -> str:
    return f"a lower train.clip_norm (now {now:g})" if now else "train.clip_norm=1 (now 0: nothing is clipped)"


@dataclass
class Timer:
    """Speed of training alone: what validating and saving cost is left out."""

    tokens: int = 0
    began: float = field(default_factory=time.monotonic)

    def leave_out(self, seconds: float) -> None:
        self.began += seconds

    def tokens_per_second(self) -> float:
        return self.tokens / max(1e-9, time.monotonic() - self.began)


def is_scheduled(step: int, config: TrainConfig) -> bool:
    """Whether this step's checkpoint belongs to every run of these settings (one saved by Ctrl-C does not)."""
    return step > 0 and (step % config.save_every == 0 or step % config.valid_every == 0)


def best_steps(state: RunState, number: int) -> set[int]:
    """The steps with the lowest validation losses."""
    return set(state.steps_by_loss()[:number])


def steps_to_average(folder: Path, state: RunState, config: TrainConfig) -> list[int]:
    """Which checkpoints the final weights are the mean of: the last scheduled ones and this step, or the best."""
    if config.average_of == "best":
        return sorted(best_steps(state, config.average))
    scheduled = [step for step in list_checkpoints(folder) if step < state.step and is_scheduled(step, config)]
    return [*scheduled, state.step][-config.average :]
