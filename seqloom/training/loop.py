"""The training loop. It knows no model, task or metric: it works with a loss, batches and a validation.

    for each step:  seed from (seed, step) -> gradients of `accumulate` batches -> clip -> update -> validate? -> save?

Everything the next step depends on is in the weights, the optimizer and RunState, so a run that is killed anywhere and
started again from its last checkpoint makes the same weights, bit for bit.
"""

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from seqloom.config import TrainConfig
from seqloom.errors import Interrupted, ModelError, TrainingError
from seqloom.runtime.checkpoints import STATE, Checkpoint, list_checkpoints
from seqloom.training.checkpoint import prune_checkpoints, save_checkpoint
from seqloom.training.expectation import expect
from seqloom.training.gradient_clipping import advise_clip_norm, scale_and_clip
from seqloom.training.objective import Objective, Surroundings
from seqloom.training.optimizers import (
    load_optimizer_tensors,
    make_optimizer,
    optimizer_tensors,
    set_rate,
)
from seqloom.training.schedules import learning_rate
from seqloom.training.speed import Speed, Timer
from seqloom.training.state import RunState, seed_of
from seqloom.training.tensor_stream import TensorStream

MOST_SKIPPED_IN_A_ROW = 20
NAMED = 5  # lines shown in a message; the log has all of them


class Loop:
    """Trains the objective; `run` goes to the end, `resume` continues from a checkpoint."""

    def __init__(
        self, config: TrainConfig, objective: Objective, around: Surroundings, speed: Speed | None = None
    ) -> None:
        self.config, self.speed = config, speed or Speed()
        self.model, self.loss_of, self.batches = objective.model, objective.loss_of, objective.batches
        self.validate, self.task = objective.validate, objective.task
        self.folder, self.log, self.progress = around.folder, around.log, around.progress
        self.clock, self.stop, self.processes = around.clock, around.stop, around.processes
        self.processes.watch(self.model, self.task, self.clock, self.stop)
        self.optimizer = make_optimizer(self.model, config, self.processes.updates)
        self.state = RunState()
        self.plan = self.batches.epoch(0)
        self.saved_step = 0
        self.timer = Timer()
        self.shown: dict[str, float] = {}  # what the progress line says beside the step

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint; ModelError if it is not one of this run."""
        try:
            self.model.load_state_dict(checkpoint.tensors("model"))
            elsewhere = {name for name, tensor in self.model.named_parameters() if not self.processes.updates(tensor)}
            own = checkpoint.tensors("optimizer", lambda key: key.rpartition(":")[0] not in elsewhere)
            load_optimizer_tensors(self.model, self.optimizer, own)
            if self.task and checkpoint.has("task"):
                self.task.restore_carried(checkpoint.tensors("task"))
        except (RuntimeError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ModelError(f"{checkpoint.path}: its tensors are not those of this model: {reason}") from None
        self.state = RunState.from_json(checkpoint.state, checkpoint.path / STATE)
        self.plan = self.batches.epoch(self.state.epoch)
        if self.state.batch >= len(self.plan):
            raise ModelError(
                f"{checkpoint.path / STATE}: batch = {self.state.batch:,}, but an epoch has {len(self.plan):,}. "
                "Delete this checkpoint to continue from an older one."
            )
        self.saved_step = self.state.step

    def run(self) -> str:
        """Train to the end and return why it ended; on a stop save everything and raise Interrupted."""
        self.model.train()
        self.timer = Timer()
        state, config = self.state, self.config
        while True:
            if state.validation_due:
                self.run_validation()
            if is_scheduled(state.step, config) and not state.skipped_in_row:  # diverging weights are not kept
                self.save()
            if self.stop:
                self.leave()
            if state.step and (reason := self.clock.reason_to_end(state)):  # a short budget makes one update too
                self.progress.finish(state.step, self.shown)
                return reason
            self.update()
            state.validation_due = state.step % config.valid_every == 0 and self.clock.may_validate()

    def update(self) -> None:
        """One step: the gradients of `accumulate` batches, summed over tokens, then the optimizer's update."""
        state, config = self.state, self.config
        used: list[Any] = []
        sums: list[tuple[float, int]] = []
        for part in range(config.accumulate):
            progress = self.clock.progress(state, len(self.plan))
            used.append(self.next_indices())
            if self.processes.computes(part):
                sums.append(self.compute(part, used[-1], progress))
            self.processes.add_gradients(part, config.accumulate)
        nll, tokens = 0.0, 0
        every, norms = self.processes.end_step(sums, config.accumulate)
        for part_nll, part_tokens in every:
            nll, tokens = nll + part_nll, tokens + part_tokens
        norm = scale_and_clip(self.model.parameters(), tokens, config.clip_norm, norms)
        rate = learning_rate(
            config, state.step + 1, self.clock.progress(state, len(self.plan)), self.clock.budget is not None
        )
        if math.isfinite(norm) and math.isfinite(nll):
            set_rate(self.optimizer, rate)
            self.optimizer.step()
            self.processes.hand_out_weights()
            state.skipped_in_row = 0
            state.clipped += bool(config.clip_norm) and norm > config.clip_norm
        else:
            self.skip(nll / tokens, norm, used)
            nll, tokens = 0.0, 0  # the log counts only steps that were made
        self.model.zero_grad()  # to None: zeros would cost a pass to write and one to add to
        state.step += 1
        state.tokens += tokens
        self.report(nll, tokens, norm, rate)

    def compute(self, part: int, indices: Any, progress: float) -> tuple[float, int]:
        """Add the gradients of one part, a pure function of (seed, step, part); its negative log-likelihood, tokens."""
        self.processes.take_state(part)
        torch.manual_seed(seed_of(self.config.seed, self.state.step, part))
        loss = self.loss_of(self.batches.load(indices), progress)
        self.processes.hand_on_state(part, self.config.accumulate)
        loss.smoothed.backward()
        return loss.nll.item(), loss.num_tokens

    def next_indices(self) -> Any:
        """Return the next batch of the plan; the plan of an epoch is a pure function of (seed, epoch)."""
        state = self.state
        indices = self.plan[state.batch]
        state.batch += 1
        if state.batch == len(self.plan):
            state.epoch, state.batch = state.epoch + 1, 0
            self.plan = self.batches.epoch(state.epoch)
        return indices

    def skip(self, loss: float, norm: float, used: list[Any]) -> None:
        """Leave out a step whose loss or gradient is not finite, and log it; twenty in a row end the run."""
        state = self.state
        if self.task:
            self.task.drop_carried()  # the carried state may be what is not finite: it would spoil every later step
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
            kept = f"The last checkpoint from before, of step {self.saved_step:,}, is kept."
            raise TrainingError(
                f"{MOST_SKIPPED_IN_A_ROW} steps in a row gave a loss or gradient that is not finite: it diverged. "
                f"{kept if self.saved_step else 'That was before the first checkpoint: nothing is kept.'} Try a lower "
                f"train.learning_rate (now {self.config.learning_rate:g}), a longer train.warmup "
                f"(now {self.config.warmup}) or {advise_clip_norm(self.config.clip_norm)} in a new --out."
            )

    def report(self, nll: float, tokens: int, norm: float, rate: float) -> None:
        state = self.state
        state.logged_nll, state.logged_tokens = state.logged_nll + nll, state.logged_tokens + tokens
        self.timer.tokens, self.timer.updates = self.timer.tokens + tokens, self.timer.updates + 1
        if state.step % self.config.log_every:
            return
        pace = self.timer.tokens_per_second()
        loss = state.logged_nll / state.logged_tokens if state.logged_tokens else math.nan
        mfu = self.speed.used(pace)
        if self.clock.budget and not self.shown:
            self.progress.message(expect(state, self.config, self.clock, self.timer, len(self.plan)))
        self.log.write(
            {
                "event": "train", "step": state.step, "epoch": state.epoch, "loss": loss, "lr": rate,
                "gradient_norm": norm, "clipped_share": state.clipped / state.step, "tokens": state.tokens,
                "tokens_per_second": round(pace, 1), "mfu": round(mfu, 4), "seconds": round(self.clock.seconds(), 2),
                **self.processes.figures(),
            }
        )  # fmt: skip
        self.shown = {"loss": loss, "lr": rate, "tokens_per_second": pace, "mfu": mfu}
        self.progress.update(state.step, self.shown)
        state.logged_nll, state.logged_tokens, self.timer = 0.0, 0, Timer()

    def run_validation(self) -> None:
        """Validate this step; after a stop in the middle it stays due, and the next start does it."""
        began = time.monotonic()
        self.model.eval()
        event = self.validate(self.state, self.stop)
        self.model.train()
        if event is None:
            return
        seconds = self.processes.from_first(time.monotonic() - began)
        self.state.validation_due = False
        self.state.valid_losses[self.state.step] = event["loss"]
        self.state.valid_scores = event.get("scores", {})
        told = {name: found for name, found in event.items() if name != "scores"} | self.state.valid_scores
        self.log.write({"event": "valid", "step": self.state.step, **told, "seconds": round(self.clock.seconds(), 2)})
        self.clock.validated(seconds)
        self.timer.leave_out(seconds)

    def finish(self) -> None:
        """Validate and save the last step, scheduled or not."""
        if self.state.step not in self.state.valid_losses:
            self.run_validation()
        if self.stop and self.state.step not in self.state.valid_losses:
            self.leave()
        self.save()
        self.model.eval()

    def save(self) -> None:
        """Save a checkpoint of this step, unless there is one, and delete old ones."""
        state, config = self.state, self.config
        if self.saved_step == state.step:
            return
        self.saved_step = state.step
        began = time.monotonic()
        gathered = self.processes.gathered(optimizer_tensors(self.model, self.optimizer))
        if gathered is None:  # process 0 has them
            return
        tensors: dict[str, Mapping[str, torch.Tensor] | TensorStream] = {
            "model": self.model.state_dict(),
            "optimizer": gathered,
        }
        if self.task and (carried := self.task.carried()):
            tensors["task"] = carried
        save_checkpoint(self.folder, state.step, tensors, {**state.to_json(), "seconds": self.clock.seconds()})
        prune_checkpoints(
            self.folder, config.keep, set(steps_to_average(self.folder, state, config)) | best_steps(state, 1)
        )
        self.timer.leave_out(time.monotonic() - began)

    def leave(self) -> None:
        if not self.state.step:
            raise Interrupted(
                "stopped before the first step: nothing was trained. The same command starts again.",
                self.stop.exit_code,
            )
        self.progress.finish(self.state.step, self.shown, stopped=True)
        self.save()
        self.processes.wait()
        raise Interrupted(
            f"stopped after step {self.state.step}, saved. `seqloom finish {self.folder.parent}` makes a model of what "
            "is there. The same command continues from there.",
            self.stop.exit_code,
        )


def is_scheduled(step: int, config: TrainConfig) -> bool:
    """Whether every run with these settings saves this step (one saved by Ctrl-C does not count)."""
    return step > 0 and (step % config.save_every == 0 or step % config.valid_every == 0)


def best_steps(state: RunState, number: int) -> set[int]:
    """Return the steps with the lowest validation losses."""
    return set(state.steps_by_loss()[:number])


def steps_to_average(folder: Path, state: RunState, config: TrainConfig) -> list[int]:
    """Return the checkpoints whose mean are the final weights: the last scheduled ones and this step, or the best."""
    if config.average_of == "best":
        return sorted(best_steps(state, config.average))
    scheduled = [step for step in list_checkpoints(folder) if step < state.step and is_scheduled(step, config)]
    return [*scheduled, state.step][-config.average :]
