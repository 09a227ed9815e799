"""What a model costs per token: operations, memory, and the seconds that its steps take on this machine.

Costs are counted per cell. The cells of a batch are its source and target tokens with their ends: the number that
every batch of a plan has before it is read, so that a few measured batches stand for all of them.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.config import Config
from seqloom.data.batch import StoreBatches
from seqloom.data.language_windows import Cut
from seqloom.data.store import Store
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.planning.machine import memory_here
from seqloom.planning.workload import Workload
from seqloom.tasks.api import Task
from seqloom.tasks.build import build_task
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.objective import Batches
from seqloom.training.optimizers import make_optimizer
from seqloom.training.precision import products_in
from seqloom.training.speed import count_flops

CPU = torch.device("cpu")
FLOAT = 4  # bytes
COUNTED = 5  # batches whose operations are counted, spread over an epoch
ROWS = 4  # of each of them
TIMED = 8  # batches, at least, if the time allows
PROBE = 256  # tokens per side in the first batches that are timed
WARM_UP = 2  # batches that are not counted: the first ones wait for memory
STATES = {"adamw": 2, "adadelta": 2, "sgd": 0}  # numbers that an optimizer keeps per parameter


@dataclass
class Seconds:
    """Seconds of training steps, by what they were spent on, and what was done in them."""

    load: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    update: float = 0.0
    updates: int = 0
    cells: int = 0
    processor: float = 0.0  # seconds of all threads together

    @property
    def all(self) -> float:
        return self.load + self.forward + self.backward + self.update


@dataclass(frozen=True)
class Costs:
    """The costs of a model."""

    params: int
    flops: float  # per cell, forward and backward
    tokens: float  # target tokens per cell: those that the log of a run counts
    activations: float  # bytes per cell, kept from the forward pass for the backward pass
    optimizer_states: int
    seconds: Seconds = field(default_factory=Seconds)  # empty: not measured

    @property
    def weight_memory(self) -> int:
        """Bytes of weights, gradients and the states of the optimizer."""
        return self.params * FLOAT * (2 + self.optimizer_states)


def cells_of(batches: Batches, indices: Any) -> int:
    """The source and target tokens of a batch, with their ends; for running text, its tokens."""
    if not isinstance(batches, StoreBatches):
        return len(indices.starts) * int(indices.length)
    return cells_of_pairs(batches.store, indices)


def cells_of_pairs(store: Store, indices: Any) -> int:
    lengths = (store.source_lengths[indices], store.target_lengths[indices])
    return sum(int(side.sum()) + len(side) for side in lengths)


def count_costs(work: Workload, with_weights: bool) -> tuple[Costs, nn.Module, Task]:
    """Build the model, and count its operations and its memory on a few pairs.

    with_weights: with initial weights, to be trained; else its numbers are whatever the memory holds.
    """
    config = work.config
    with torch.device("meta"):
        model = build_model(config, *work.vocab_sizes, config.text.joint)
    params = sum(parameter.numel() for parameter in model.parameters())
    states = STATES[config.train.optimizer]
    refuse_large(params * FLOAT * (2 + states if with_weights else 1), params)
    if with_weights:
        torch.manual_seed(config.train.seed)
        model = build_model(config, *work.vocab_sizes, config.text.joint)
    else:
        model = model.to_empty(device=CPU)
    task = build_task(config)
    task.know_pieces([""] * work.vocab_sizes[0])
    batches: Batches = task.batches(work.train, config.train.batch_tokens, config.train.seed)
    plan = batches.epoch(0)
    flops = cells = tokens = 0
    kept = 0.0
    for place in sorted({len(plan) * step // COUNTED for step in range(COUNTED)}):
        indices = first_rows(plan[place])
        batch, some = batches.load(indices), cells_of(batches, indices)
        found: list[Any] = []
        flops += count_flops(model, lambda batch=batch, found=found: found.append(task.loss(model, batch)))  # type: ignore[misc]
        task.drop_carried()
        cells, tokens = cells + some, tokens + found[0].num_tokens
        with counting_saved(model) as saved:
            task.loss(model, batch)
        task.drop_carried()
        kept = max(kept, sum(saved.values()) / some)
    return Costs(params, flops / cells, tokens / cells, kept, states), model, task


def refuse_large(needed: int, params: int) -> None:
    there = memory_here()
    if there is not None and needed > 0.9 * there:
        raise UsageError(
            f"this model has {params:,} parameters and needs {needed / 1e9:.1f} GB of memory here; this machine "
            f"has {there / 1e9:.1f} GB. Describe a larger machine (--gflops, --cores), or choose a smaller model."
        )


def first_rows(indices: Any) -> Any:
    """The first few rows of a batch."""
    if isinstance(indices, Cut):
        return Cut(indices.starts[:ROWS], indices.length, indices.fresh)
    return indices[:ROWS]


def small_batches(work: Workload, task: Task, tokens: int) -> Batches:
    """Batches of at most this many tokens per side, or of single pairs where one is longer."""
    config, store = work.config, work.train
    longest = 1 + max(int(store.source_lengths.max()), int(store.target_lengths.max()))
    batches: Batches = task.batches(store, max(longest, min(tokens, config.train.batch_tokens)), config.train.seed)
    return batches


@contextmanager
def counting_saved(model: nn.Module) -> Iterator[dict[int, int]]:
    """Count the bytes that the forward pass keeps for the backward pass: storage -> bytes, weights left out."""
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield saved


def measure_steps(work: Workload, model: nn.Module, task: Task, limit: float) -> Seconds:
    """Train on the workload for about `limit` seconds, twice as long on a busy machine, and say where the time went.

    Two small batches come first: by their processor time, batches that would take too long are made smaller.
    """
    config, optimizer = work.config, make_optimizer(model, work.config.train)
    model.train()
    probe = Seconds()
    small = small_batches(work, task, PROBE)
    for number in range(2):  # the first one waits for memory and kernels
        probe = Seconds()
        time_step(small.epoch(0)[number % len(small.epoch(0))], small, model, task, optimizer, config, probe)
    each = probe.processor / probe.cells / config.train.threads
    batches = small_batches(work, task, max(PROBE, int(limit / (TIMED * each) / 2)))
    plan, spent, began = batches.epoch(0), Seconds(), time.monotonic()
    for number in range(10**9):
        seconds = time.monotonic() - began
        worked = spent.processor >= 0.8 * limit * config.train.threads
        if number > WARM_UP and (seconds > 2 * limit or (seconds > limit and worked)):
            break
        if number == WARM_UP:
            spent = Seconds()
        time_step(plan[number % len(plan)], batches, model, task, optimizer, config, spent)
    return spent


def time_step(
    indices: Any,
    batches: Batches,
    model: nn.Module,
    task: Task,
    optimizer: torch.optim.Optimizer,
    config: Config,
    spent: Seconds,
) -> None:
    """Make one update, as the training loop does, and add its seconds."""
    processor, moments = time.process_time(), [time.perf_counter()]
    batch = batches.load(indices)
    moments.append(time.perf_counter())
    with products_in(config.train.precision, CPU):
        loss = task.loss(model, batch, config.train.label_smoothing, 0.0)
        loss.nll.item()
    moments.append(time.perf_counter())
    loss.smoothed.backward()
    moments.append(time.perf_counter())
    scale_and_clip(model.parameters(), loss.num_tokens, config.train.clip_norm)
    optimizer.step()
    optimizer.zero_grad()
    moments.append(time.perf_counter())
    load, forward, backward, update = (after - before for before, after in pairwise(moments))
    spent.load, spent.forward = spent.load + load, spent.forward + forward
    spent.backward, spent.update = spent.backward + backward, spent.update + update
    spent.updates, spent.cells = spent.updates + 1, spent.cells + cells_of(batches, indices)
    spent.processor += time.process_time() - processor


def cells_per_batch(work: Workload, task: Task) -> tuple[float, float, int]:
    """The mean and the largest number of cells in a batch of the run, and the number of batches of the sample."""
    batches: Batches = task.batches(work.train, work.config.train.batch_tokens, work.config.train.seed)
    plan = batches.epoch(0)
    cells: Sequence[int] = [cells_of(batches, plan[place]) for place in range(len(plan))]
    return sum(cells) / len(cells), max(cells), len(cells)
