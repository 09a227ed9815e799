"""The forecast of a run: updates, hours, memory, disk and traffic, from the costs of its model.

One update of V parts (train.accumulate) by W processes, part p to process p mod W:

    seconds = ceil(V / W) seconds(part) + bytes sent / bandwidth + seconds(optimizer) / W
    bytes sent by each process = 4 P (W - 1) / W (V / W + 1)

Each gradient part goes to the process that owns this share of the P parameters, which sends the new weights back to the
others and holds the state of the optimizer for its share. Nothing is assumed to overlap.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from seqloom.config import TrainConfig
from seqloom.errors import UsageError
from seqloom.planning.costs import FLOAT, Costs
from seqloom.planning.machine import Machine
from seqloom.training.run_end import steps_in_all

BASE_MEMORY = 400e6  # bytes of a process before its model is built: Python, torch and their libraries
INDEX_MEMORY = 40  # bytes per pair while an epoch is planned (benchmarks/store_scale.py --index)
STORE_COLUMNS = 30  # bytes per pair in the store, beside its ids


@dataclass(frozen=True)
class Amount:
    """How much a run has to do."""

    pairs: int
    batches_per_epoch: float
    cells: float  # per batch, on average
    most_cells: int
    valid_cells: float
    ids: float  # in the store


@dataclass(frozen=True)
class Forecast:
    """What a run will need. Times are in seconds, sizes in bytes; `share` says where the time goes."""

    updates: int
    epochs: float
    ends: str  # what ends the run
    parts: int
    processes: int
    params: int
    flops_per_token: float
    tokens_per_update: float
    tokens_per_second: float
    seconds_per_update: float
    mfu: float
    training: float
    validation: float
    total: float
    share: dict[str, float]
    memory: dict[str, float]
    disk: dict[str, float]
    sent: float  # per process and update

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Part:
    """The seconds of one part of an update on one process, and of the optimizer's step after all of them."""

    load: float
    forward: float
    backward: float
    update: float

    @property
    def all(self) -> float:
        return self.load + self.forward + self.backward


def part_here(costs: Costs, cells: float) -> Part:
    """A part on this machine, from what was measured."""
    spent = costs.seconds
    each = cells / spent.cells
    return Part(spent.load * each, spent.forward * each, spent.backward * each, spent.update / spent.updates)


def part_elsewhere(costs: Costs, cells: float, speed: float) -> Part:
    """A part on a described machine; a backward pass costs twice a forward one, and the share used covers the rest."""
    seconds = costs.flops * cells / speed
    return Part(0.0, seconds / 3, seconds * 2 / 3, 0.0)


def check_world(world: int, train: TrainConfig) -> None:
    """Refuse more processes than parts: some would have nothing to do."""
    if world > train.accumulate:
        smaller = max(1, train.batch_tokens * train.accumulate // world)
        raise UsageError(
            f"--world {world}: a step has only {train.accumulate} part{'s' * (train.accumulate > 1)} "
            f"(train.accumulate) to share out. Set as many parts as processes, of smaller batches: --set "
            f"train.accumulate={world} --set train.batch_tokens={smaller}"
        )


def predict(
    train: TrainConfig, costs: Costs, amount: Amount, machine: Machine, world: int, budget: float | None, matmul: float
) -> Forecast:
    """Put the forecast together. matmul: operations per second of a bare matrix product, of all processes."""
    check_world(world, train)
    speed = 0.0 if machine.is_here else machine.speed_of_process(world)
    part = part_here(costs, amount.cells) if machine.is_here else part_elsewhere(costs, amount.cells, speed)
    parts, rounds = train.accumulate, math.ceil(train.accumulate / world)
    sent = FLOAT * costs.params * (world - 1) / world * (parts / world + 1)
    exchange = sent * 8 / (machine.bandwidth * 1e9)
    waiting = part.all * (rounds - parts / world)
    optimizer = part.update / world  # each process updates the parameters that it owns
    update = part.all * rounds + exchange + optimizer
    validation = part.forward / amount.cells * amount.valid_cells / world
    epoch_updates = amount.batches_per_epoch / parts
    updates, ends = number_of_updates(train, amount, budget, update + validation / train.valid_every)
    validations = updates / train.valid_every * validation
    total = updates * update + validations
    spent = {
        "reading batches": part.load * parts / world, "forward": part.forward * parts / world,
        "backward": part.backward * parts / world, "optimizer": optimizer, "exchange of gradients": exchange,
        "waiting for other processes": waiting, "validation": validation / train.valid_every,
    }  # fmt: skip
    tokens = amount.cells * costs.tokens * parts
    return Forecast(
        updates=updates, epochs=updates / epoch_updates, ends=ends, parts=parts, processes=world, params=costs.params,
        flops_per_token=costs.flops / costs.tokens, tokens_per_update=tokens, tokens_per_second=tokens / update,
        seconds_per_update=update, mfu=costs.flops * amount.cells * parts / update / matmul,
        training=updates * update, validation=validations, total=total,
        share={name: seconds / sum(spent.values()) for name, seconds in spent.items()},
        memory=memory_of(costs, amount, world), disk=disk_of(costs, amount), sent=sent,
    )  # fmt: skip


def number_of_updates(train: TrainConfig, amount: Amount, budget: float | None, seconds: float) -> tuple[int, str]:
    """How many updates a run makes, and what ends it."""
    per_epoch = amount.batches_per_epoch / train.accumulate
    limits: dict[str, float] = {}
    if by_limits := steps_in_all(train, math.ceil(amount.batches_per_epoch)):
        name = "max_steps" if by_limits == train.max_steps else "max_epochs"
        limits[f"train.{name} = {getattr(train, name)}"] = by_limits
    if budget:
        limits["--budget"] = max(1.0, budget / seconds)
    if not limits:
        limits["one epoch (the run ends by train.patience, which cannot be predicted)"] = per_epoch
    ends = min(limits, key=lambda name: limits[name])
    return max(1, round(limits[ends])), ends


def memory_of(costs: Costs, amount: Amount, world: int) -> dict[str, float]:
    """The memory of one process at its largest batch; of several, each has the sums and the states of its share."""
    weights = float(costs.params * FLOAT)
    sums = weights / world if world > 1 else 0.0
    memory = {
        "weights": weights, "gradients": weights + sums, "optimizer": weights * costs.optimizer_states / world,
        "activations": costs.activations * amount.most_cells, "index of the data": float(INDEX_MEMORY * amount.pairs),
        "program": BASE_MEMORY,
    }  # fmt: skip
    return memory | {"all": sum(memory.values())}


def disk_of(costs: Costs, amount: Amount) -> dict[str, float]:
    return {
        "store": amount.ids * 2 + STORE_COLUMNS * amount.pairs,
        "one checkpoint": float(costs.params * FLOAT * (1 + costs.optimizer_states)),
    }
