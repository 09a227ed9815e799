"""seqloom plan: what a training run will need, before it starts."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from seqloom.config import TASKS, Config, load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.read_as import AS_FOUND, ReadAs
from seqloom.errors import UsageError
from seqloom.planning.costs import cells_of_pairs, cells_per_batch, count_costs, measure_steps
from seqloom.planning.deal import PartOfStep, deal_parts
from seqloom.planning.forecast import Amount, Forecast, check_world, predict
from seqloom.planning.machine import Machine
from seqloom.planning.render import render, render_deal
from seqloom.planning.workload import Workload, make_up, sample_files
from seqloom.runtime.engines import usable_cores
from seqloom.training.clock import parse_duration
from seqloom.training.precision import choose_precision
from seqloom.training.request import TrainRequest
from seqloom.training.run_end import check_end
from seqloom.training.settings import refuse_idle, settle
from seqloom.training.speed import keep_freed_memory, matmul_speed

SECONDS = 12.0  # of training, to measure this machine
BUSY = 0.85  # below this share of processor time, other programs take part in the machine
CPU = torch.device("cpu")


@dataclass(frozen=True)
class PlanRequest:
    """One call of `seqloom plan`: the data (files, or numbers), the settings, the machine and the processes."""

    data: str | None = None
    pairs: int | None = None
    lengths: tuple[float, float] | None = None
    recipe: str | None = None
    overrides: tuple[str, ...] = ()
    budget: str | None = None
    columns: ReadAs = AS_FOUND
    machine: Machine = field(default_factory=Machine)
    world: int = 1

    def check(self) -> None:
        """Refuse data that is given twice, half or not at all."""
        self.machine.check()
        if self.world < 1:
            raise UsageError(f"--world {self.world}: want a number of processes, at least 1")
        if self.data is not None and (self.pairs is not None or self.lengths is not None):
            raise UsageError(f"{self.data} and --pairs: give a file, or --pairs with --lengths, not both")
        if self.data is None and (self.pairs is None or self.lengths is None):
            raise UsageError("which data? Name a file, or give its size: --pairs 4500000 --lengths 30,33")
        if self.pairs is not None and self.pairs < 1:
            raise UsageError(f"--pairs {self.pairs}: want a number of pairs, at least 1")
        if self.lengths is not None and not all(0 < mean < math.inf for mean in self.lengths):
            raise UsageError("--lengths: want the mean tokens of source and target, above 0, such as 30,33")
        if self.data is None and self.recipe is None:
            raise UsageError("--pairs: name a --recipe; without a file there is nothing to choose one by")


@dataclass(frozen=True)
class Planned:
    """What `seqloom plan` found."""

    forecast: Forecast
    about: dict[str, str]
    notes: tuple[str, ...]
    deal: tuple[PartOfStep, ...]
    cores_used: float  # processor seconds per second of the updates that were timed; 0: none were

    def render(self) -> str:
        return render(self.forecast, self.about, self.notes)

    def render_deal(self) -> str:
        return render_deal(self.deal, self.forecast.processes, self.forecast.params)

    def to_json(self) -> dict[str, Any]:
        return self.forecast.to_json() | {
            "about": self.about, "notes": list(self.notes), "deal": [part.to_json() for part in self.deal],
            "cores_used": self.cores_used,
        }  # fmt: skip


def plan(request: PlanRequest) -> Planned:
    """Predict a training run: updates, hours, memory, disk and traffic."""
    request.check()
    budget = parse_duration(request.budget) if request.budget else None
    with TemporaryDirectory(prefix="seqloom-plan-") as name:
        work = open_workload(request, Path(name), budget)
        check_world(request.world, work.config.train)
        config, machine = work.config, request.machine
        keep_freed_memory()
        torch.set_num_threads(config.train.threads)
        costs, model, task = count_costs(work, machine.is_here)
        matmul = matmul_speed(CPU, config.train.precision)
        notes, cores_used = [], 0.0
        if machine.is_here:
            costs = replace(costs, seconds=measure_steps(work, model, task, SECONDS))
            cores_used = costs.seconds.processor / costs.seconds.all
            notes = notes_here(cores_used, config, request.world)
        amount = describe_amount(work, task)
        every = matmul * request.world if machine.is_here else machine.speed_of_process(1) / machine.mfu
        forecast = predict(config.train, costs, amount, machine, request.world, budget, every)
        about = describe(request, work, matmul, costs.seconds.updates)
        return Planned(forecast, about, tuple(notes), tuple(deal_parts(work, task, request.world)), cores_used)


def open_workload(request: PlanRequest, folder: Path, budget: float | None) -> Workload:
    """Resolve the settings as `train` does, and open the sample of the data or the made-up lengths."""
    threads = max(1, usable_cores() // request.world)
    if request.data is not None:
        out = folder / "run"
        out.mkdir()
        overrides = (f"train.threads={threads}", *request.overrides)
        training = TrainRequest(
            (request.data,), out, recipe=request.recipe, overrides=overrides, budget=budget, columns=request.columns
        )
        return sample_files(settle(training), out)
    assert request.recipe is not None and request.pairs is not None and request.lengths is not None
    config = load_config(find_recipe(request.recipe), [*request.overrides])
    refuse_idle(config, request.overrides)
    check_end(config, budget)
    precision = choose_precision(config.train.precision, CPU, config.model.width)
    train = replace(config.train, threads=config.train.threads or threads, precision=precision)
    if budget:
        train = replace(train, max_steps=0, max_epochs=0)
    return make_up(replace(config, train=train), request.pairs, request.lengths, folder)


def describe_amount(work: Workload, task: Any) -> Amount:
    mean, most, batches = cells_per_batch(work, task)
    every = range(len(work.valid))
    ids = int(work.train.source_lengths.sum()) + int(work.train.target_lengths.sum())
    return Amount(
        pairs=work.pairs, batches_per_epoch=batches * work.scale, cells=mean, most_cells=int(most),
        valid_cells=cells_of_pairs(work.valid, [*every]), ids=ids * work.scale,
    )  # fmt: skip


def describe(request: PlanRequest, work: Workload, matmul: float, measured: int) -> dict[str, str]:
    """Data, recipe and machine, in words."""
    config, machine, store = work.config, request.machine, work.train
    means = [float(side.mean()) for side in (store.source_lengths, store.target_lengths)]
    tokens = f"{means[0]:.1f}" + (f" and {means[1]:.1f}" if means[1] else "")
    records = TASKS[config.task.name].records
    sampled = f" ({len(store):,} of them looked at)" if len(store) < work.pairs else ""
    processes = f"{request.world} process{'es' * (request.world > 1)}"
    if machine.is_here:
        here = f"this one, {processes} of {config.train.threads} thread{'s' * (config.train.threads > 1)}, "
        here += (
            f"{config.train.precision}: {matmul / 1e9:,.0f} GFLOP/s in a bare matrix product; {measured} updates timed"
        )
    else:
        cores = machine.cores or 1
        here = (
            f"{machine.nodes} node{'s' * (machine.nodes > 1)} x {cores} x {machine.gflops:,.0f} GFLOP/s, {processes}, "
        )
        here += f"{100 * machine.mfu:.0f} % of it used (--mfu)"
    return {
        "data": f"{work.pairs:,} {records}{sampled}, {tokens} tokens on average",
        "recipe": f"{request.recipe or config.model.kind}: {config.train.batch_tokens:,} tokens per side in a batch",
        "machine": here,
    }


def notes_here(share: float, config: Config, world: int) -> list[str]:
    """What makes a measured forecast doubtful."""
    notes = []
    if share < BUSY * config.train.threads:
        notes.append(
            f"other programs were using this machine: the measured updates got {share:.2f} of {config.train.threads} "
            "cores. On an idle machine training takes less time."
        )
    if world > 1:
        notes.append(
            f"one process was measured; {world} at once share caches and memory and may each be slower. "
            f"The exchange assumes --bandwidth, not a measurement."
        )
    return notes


__all__ = ["Machine", "PlanRequest", "Planned", "plan"]
