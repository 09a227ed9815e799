"""One training run, once its settings are resolved: prepare the data, build the model, loop, finish."""

import copy
import time
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from seqloom.config import dump_config
from seqloom.errors import ModelError
from seqloom.files.durable import replace_file
from seqloom.nn.loss import Loss
from seqloom.progress import make_progress
from seqloom.runtime.checkpoints import Checkpoint, list_checkpoints, newest_checkpoint
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.tasks.api import Task
from seqloom.training.checkpoint import prune_checkpoints
from seqloom.training.clock import Clock
from seqloom.training.data import gather_data
from seqloom.training.finish import complete, tell_where
from seqloom.training.gradient_clipping import describe_clipping
from seqloom.training.init_from import begin, describe_size, start_at_frequencies
from seqloom.training.loop import Loop, best_steps
from seqloom.training.metrics_log import MetricsLog
from seqloom.training.objective import Objective, Surroundings
from seqloom.training.precision import products_in
from seqloom.training.request import Settled
from seqloom.training.run_end import finished_facts, run_limits, steps_in_all
from seqloom.training.run_parts import Run, known_facts, make_model, make_task, make_validation, prepare_torch
from seqloom.training.signals import StopFlag, stop_requested
from seqloom.training.speed import Speed, count_flops, matmul_speed
from seqloom.training.state import seed_of
from seqloom.training.validation import Validation

END_IN_LOSSES = 6  # the end of a run takes about as long as this many passes over the validation data


def run_training(settled: Settled, began: float) -> RunFacts:
    """Train, or continue, as far as the limits allow; what run.json says at the end.

    began: when the call began (`time.monotonic`); the budget counts from there.
    """
    request, config = settled.request, settled.config
    prepare_torch(config)
    run = Run(request, config, *gather_data(settled), find_device(config.train.device))
    replace_file(request.out / "config.toml", dump_config(config).encode())
    if done := finished_facts(request.out, config, request.budget):
        request.tell(
            f"{request.out}: finished at step {done.step}; nothing to do. With a larger limit it continues from there."
        )
        return done
    with stop_requested() as stop:  # before this a plain Ctrl-C loses nothing: data is built whole or not at all
        return train_model(run, began, stop)


def train_model(run: Run, began: float, stop: StopFlag) -> RunFacts:
    """Build the model, resume from the newest checkpoint, loop, finish."""
    config, tell = run.config, run.request.tell
    torch.manual_seed(seed_of(config.train.seed))
    model = make_model(run)
    params = sum(p.numel() for p in model.parameters())
    checkpoint = find_checkpoint(run)
    step = checkpoint.step if checkpoint else 0
    if checkpoint is None:
        start_at_frequencies(model, config, run.tokenizers, run.train)
    begin(model, run.request.out, config, run.tokenizers, checkpoint is None, tell)
    write_facts(run.request.out, replace(known_facts(run, params), step=step, finished=False))
    clock = Clock(config.train, run.request.budget, checkpoint.state["seconds"] if checkpoint else 0.0, began)
    threads = "1 thread" if config.train.threads == 1 else f"{config.train.threads} threads"
    machine = f"{threads} on {run.device}, {config.train.precision}"
    tell(f"{config.model.kind}: {describe_size(model, params)}, {machine}")
    loop, validation = make_loop(run, model, clock, stop, step)
    with loop.log:
        if checkpoint:
            loop.resume(checkpoint)
            tell(f"continuing after step {checkpoint.step}")
        elif run.request.budget:
            clock.keep_free(END_IN_LOSSES * time_validation_loss(model, validation) + 3.0)
        with loop.progress:
            reason = loop.run()
        clipping = describe_clipping(loop.state.clipped, loop.state.step, config.train.clip_norm)
        epochs = loop.state.epoch + loop.state.batch / len(loop.plan)
        tell(f"training ends after step {loop.state.step:,} ({epochs:.2f} epochs): {reason}{clipping}")
        loop.finish()
        limits = run_limits(config, clock.budget)
        facts = complete(run, model, validation, loop.state, len(loop.plan), clock.seconds, limits)
    prune_checkpoints(loop.folder, 1, best_steps(loop.state, 1))  # a larger limit continues from them
    tell_where(run)
    return facts


def find_checkpoint(run: Run) -> Checkpoint | None:
    """Open the newest good checkpoint; a ModelError when there are some and all are damaged."""
    folder = run.request.out / "checkpoints"
    checkpoint = newest_checkpoint(folder, warn=run.request.tell)
    if checkpoint is None and list_checkpoints(folder):
        raise ModelError(
            f"{folder}: every checkpoint is damaged. Choose another --out to start from scratch; nothing was changed."
        )
    return checkpoint


def time_validation_loss(model: nn.Module, validation: Validation) -> float:
    """Measure the seconds of one pass over the validation data; the end of a run takes a few times that."""
    began = time.monotonic()
    model.eval()
    validation.loss()
    return time.monotonic() - began


def make_loop(run: Run, model: nn.Module, clock: Clock, stop: StopFlag, step: int) -> tuple[Loop, Validation]:
    """Put the loop together: one task, its batches, the validation, the log and the progress."""
    config, task = run.config, make_task(run)
    batches = task.batches(run.train, config.train.batch_tokens, config.train.seed)
    progress = make_progress(
        "train",
        steps_in_all(config.train, len(batches.epoch(0))),
        budget_seconds=clock.budget,
        start=step,
        spent_seconds=clock.seconds(),
        quiet=run.request.quiet,
    )
    validation = make_validation(run, model, copy.copy(task), progress.message)  # a copy carries a state of its own
    speed = Speed(matmul_speed(run.device, config.train.precision), flops_per_token(run, model, task, batches))
    run.request.tell(speed.describe())

    def loss_of(batch: Any, progress: float) -> Loss:
        with products_in(config.train.precision, run.device):
            return task.loss(model, batch.to(run.device), config.train.label_smoothing, progress)

    around = Surroundings(run.request.out / "checkpoints", MetricsLog(run.request.out, step), progress, clock, stop)
    return Loop(config.train, Objective(model, loss_of, batches, validation, task), around, speed), validation


def flops_per_token(run: Run, model: nn.Module, task: Task, batches: Any) -> float:
    """Count the operations on a few batches: a token of a long text costs more, and the first batch may be of such."""

    def cost(batch: Any) -> tuple[int, int]:
        found: list[Loss] = []
        flops = count_flops(model, lambda: found.append(task.loss(model, batch, run.config.train.label_smoothing)))
        task.drop_carried()  # the task forgets what it carried from this batch
        return flops, found[0].num_tokens

    plan = batches.epoch(0)
    some = sorted({0, len(plan) // 2, len(plan) - 1})
    costs = [cost(batches.load(plan[number]).to(run.device)) for number in some]
    return sum(flops for flops, _ in costs) / max(1, sum(tokens for _, tokens in costs))
