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
from seqloom.runtime.checkpoints import (
    FOLDER,
    Checkpoint,
    list_checkpoints,
    newest_checkpoint,
    open_checkpoint,
    step_name,
)
from seqloom.runtime.folder import read_facts
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.tasks.api import Task
from seqloom.training.clock import Clock
from seqloom.training.data import gather_data
from seqloom.training.finish import complete, prune_finished, tell_where
from seqloom.training.follow import announce
from seqloom.training.gradient_clipping import describe_clipping
from seqloom.training.init_from import begin, describe_size, start_at_frequencies
from seqloom.training.loop import Loop
from seqloom.training.metrics_log import MetricsLog, NoLog
from seqloom.training.objective import Objective, Surroundings
from seqloom.training.precision import products_in
from seqloom.training.processes import ALONE, OneProcess
from seqloom.training.request import Settled
from seqloom.training.run_end import finished_facts, run_limits, steps_in_all
from seqloom.training.run_parts import (
    Run,
    find_own_device,
    known_facts,
    make_model,
    make_task,
    make_validation,
    prepare_torch,
)
from seqloom.training.same_everywhere import note_machine, refuse_differences, refuse_too_many
from seqloom.training.signals import StopFlag, stop_requested
from seqloom.training.speed import Speed, count_flops, matmul_speed
from seqloom.training.state import seed_of
from seqloom.training.validation import Validation

END_IN_LOSSES = 6  # the end of a run takes about as long as this many passes over the validation data


def run_training(settled: Settled, began: float, processes: OneProcess = ALONE) -> RunFacts:
    """Train, or continue, as far as the limits allow; what run.json says at the end.

    began: when the call began (`time.monotonic`); the budget counts from there.
    """
    request, config = settled.request, settled.config
    refuse_too_many(processes, config.train)
    prepare_torch(config)
    run = Run(request, config, *gather_data(settled, processes), find_own_device(config, processes))
    replace_file(request.out / "config.toml", dump_config(config).encode())
    done = finished_facts(request.out, config, request.budget)
    announce(processes, run, done is not None)
    if done:
        if processes.first and done.step is not None:
            prune_finished(request.out / FOLDER, done.step)
        request.tell(
            f"{request.out}: finished at step {done.step}; nothing to do. With a larger limit it continues from there."
        )
        return done
    return train_model(run, began, processes)


def train_model(run: Run, began: float, processes: OneProcess) -> RunFacts:
    """Build the model, resume from the newest checkpoint, loop, finish."""
    with stop_requested(processes.world.size > 1) as stop:  # a plain Ctrl-C before this loses nothing
        refuse_differences(processes, run)
        model, checkpoint = start_model(run, processes)
        clock = Clock(run.config.train, run.request.budget, checkpoint.state["seconds"] if checkpoint else 0.0, began)
        loop, validation = make_loop(run, model, clock, (stop, processes), checkpoint.step if checkpoint else 0)
        with loop.log:
            if checkpoint:
                loop.resume(checkpoint)
                run.request.tell(f"continuing after step {checkpoint.step}")
            elif clock.budget:
                seconds = processes.from_first(time_validation_loss(model, validation))
                clock.keep_free(END_IN_LOSSES * seconds + 3.0)
            processes.wait()  # all have read their checkpoint: from here on process 0 may delete it
            with loop.progress:
                reason = loop.run()
            clipping = describe_clipping(loop.state.clipped, loop.state.step, run.config.train.clip_norm)
            epochs = loop.state.epoch + loop.state.batch / len(loop.plan)
            run.request.tell(f"training ends after step {loop.state.step:,} ({epochs:.2f} epochs): {reason}{clipping}")
            loop.finish()
            if processes.first:
                finish_run(run, loop, validation)
    processes.wait()  # the run has ended well in all processes, or in none
    return read_facts(run.request.out)


def finish_run(run: Run, loop: Loop, validation: Validation) -> None:
    """Make the model of the weights that the loop has reached; process 0 alone."""
    validation.processes = ALONE
    limits = run_limits(run.config, loop.clock.budget)
    complete(run, loop.model, validation, loop.state, len(loop.plan), loop.clock.own_seconds, limits)
    prune_finished(loop.folder, loop.state.step)
    tell_where(run)


def start_model(run: Run, processes: OneProcess) -> tuple[nn.Module, Checkpoint | None]:
    """Build the model with the weights it starts from, and open the checkpoint that it continues from."""
    config, tell, out = run.config, run.request.tell, run.request.out
    torch.manual_seed(seed_of(config.train.seed))
    model = make_model(run)
    params = sum(p.numel() for p in model.parameters())
    checkpoint = find_checkpoint(run) if processes.first else None
    step = checkpoint.step if checkpoint else 0
    if processes.first:
        if checkpoint is None:
            start_at_frequencies(model, config, run.tokenizers, run.train)
        begin(model, out, config, run.tokenizers, checkpoint is None, tell)
        before = read_facts(out).made_on if checkpoint else None
        made_on = note_machine(before, run.device, tell)
        write_facts(out, replace(known_facts(run, params), step=step, finished=False, made_on=made_on))
    if step := processes.from_first(step):
        checkpoint = checkpoint or open_checkpoint(out / FOLDER / step_name(step))
    if not processes.first:
        begin(model, out, config, run.tokenizers, False, tell)
    processes.copy_weights(model)
    number = f"{processes.world.size} processes with " if processes.world.size > 1 else ""
    threads = "1 thread" if config.train.threads == 1 else f"{config.train.threads} threads"
    machine = f"{number}{threads} on {run.device}, {config.train.precision}"
    tell(f"{config.model.kind}: {describe_size(model, params)}, {machine}")
    return model, checkpoint


def find_checkpoint(run: Run) -> Checkpoint | None:
    """Open the newest good checkpoint; a ModelError when there are some and all are damaged."""
    folder = run.request.out / FOLDER
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


def make_loop(
    run: Run, model: nn.Module, clock: Clock, shared: tuple[StopFlag, OneProcess], step: int
) -> tuple[Loop, Validation]:
    """Put the loop together: one task, its batches, the validation, the log and the progress."""
    config, task, (stop, processes) = run.config, make_task(run), shared
    batches = task.batches(run.train, config.train.batch_tokens, config.train.seed)
    progress = make_progress(
        "train",
        steps_in_all(config.train, len(batches.epoch(0))),
        budget_seconds=clock.budget,
        start=step,
        spent_seconds=clock.seconds(),
        quiet=run.request.quiet,
    )
    validation = make_validation(
        run, model, copy.copy(task), progress.message, processes
    )  # a copy carries a state of its own
    reached = matmul_speed(run.device, config.train.precision) * processes.world.size
    speed = Speed(reached, flops_per_token(run, model, task, batches))
    run.request.tell(speed.describe())

    def loss_of(batch: Any, progress: float) -> Loss:
        with products_in(config.train.precision, run.device):
            return task.loss(model, batch.to(run.device), config.train.label_smoothing, progress)

    log = MetricsLog(run.request.out, step) if processes.first else NoLog()
    around = Surroundings(run.request.out / FOLDER, log, progress, clock, stop, processes)
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
