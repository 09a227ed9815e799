"""What ends a run: updates, epochs, the clock, patience; and whether the run in a folder has finished."""

import math
from pathlib import Path

from seqloom.config import Config, TrainConfig
from seqloom.errors import UsageError
from seqloom.runtime.folder import read_facts
from seqloom.runtime.run_facts import RunFacts
from seqloom.training.schedules import NEEDS_AN_END


def check_end(config: Config, budget: float | None) -> None:
    """Raise a UsageError when nothing ends the run, or when the schedule needs an end that is not known."""
    train = config.train
    if not (budget or train.max_steps or train.max_epochs):
        if train.schedule in NEEDS_AN_END or train.scheduled_sampling:
            name = "scheduled_sampling" if train.scheduled_sampling else "schedule"
            raise UsageError(
                f"train.{name} = {getattr(train, name)!r} needs to know the end: give --budget 20m, "
                "train.max_steps or train.max_epochs"
            )
        if not train.patience:
            raise UsageError(
                "when to stop? Give --budget 20m, or set train.max_steps, train.max_epochs or train.patience"
            )


def finished_facts(folder: Path, config: Config, budget: float | None) -> RunFacts | None:
    """Return run.json when the run there has ended and no limit was raised since; no budget = the same as before."""
    facts = read_facts(folder) if (folder / "run.json").exists() else RunFacts()
    if not facts.finished or not (folder / "model.safetensors").exists():
        return None
    before = facts.limits or {}
    grown = [name for name, limit in run_limits(config, budget).items() if limit > before.get(name, 0.0)]
    return None if grown and not (grown == ["seconds"] and budget is None) else facts


def run_limits(config: Config, budget: float | None) -> dict[str, float]:
    """Return the limits of a run; a missing limit is a huge number. The run continues when one of them grows."""
    train = config.train
    limits = {"steps": train.max_steps, "epochs": train.max_epochs, "seconds": budget, "patience": train.patience}
    return {name: float(limit) if limit else 1e18 for name, limit in limits.items()}


def steps_in_all(train: TrainConfig, batches_per_epoch: int) -> int | None:
    """Return the number of updates of a run that is limited by steps or epochs; else None."""
    by_epochs = math.ceil(train.max_epochs * batches_per_epoch / train.accumulate) if train.max_epochs else 0
    return min((limit for limit in (train.max_steps, by_epochs) if limit), default=None)
