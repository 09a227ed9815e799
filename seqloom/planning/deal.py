"""Which process computes which part of a step: part p of every step belongs to process p mod W."""

from dataclasses import asdict, dataclass
from typing import Any

from seqloom.data.batch import StoreBatches
from seqloom.planning.workload import Workload
from seqloom.tasks.api import Task


@dataclass(frozen=True)
class PartOfStep:
    """One part of the first step, as the sample of the data gives it."""

    number: int
    process: int
    rows: int
    source: int  # tokens of the longest source, with its end
    target: int
    first: str  # the pair in the first row, as file:line

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def deal_parts(work: Workload, task: Task, world: int) -> list[PartOfStep]:
    """The parts of step 1, each with the process that computes it."""
    train = work.config.train
    batches: Any = task.batches(work.train, train.batch_tokens, train.seed)
    plan = batches.epoch(0)
    found = []
    for number in range(train.accumulate):
        indices = plan[number % len(plan)]
        if isinstance(batches, StoreBatches):
            store = batches.store
            sizes = (1 + int(side[indices].max()) for side in (store.source_lengths, store.target_lengths))
            rows, (source, target) = len(indices), sizes
        else:
            rows, source, target = len(indices.starts), int(indices.length), int(indices.length)
        found.append(PartOfStep(number, number % world, rows, source, target, batches.where(indices)[0]))
    return found
