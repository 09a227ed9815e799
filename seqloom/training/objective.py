"""What a training loop is given: a model with its loss, batches and validation, and where to save and report."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from seqloom.progress import Progress
from seqloom.training.clock import Clock
from seqloom.training.metrics_log import MetricsLog
from seqloom.training.processes import ALONE, OneProcess
from seqloom.training.signals import StopFlag
from seqloom.training.state import RunState


class Plan(Protocol):
    """The batches of one epoch, each as what `Batches.load` takes."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Batches(Protocol):
    """Epochs of batches: `epoch(e)` plans one, `load(indices)` reads a batch, `where(indices)` names its lines."""

    def epoch(self, number: int) -> Plan: ...
    def load(self, indices: Any) -> Any: ...
    def where(self, indices: Any) -> list[str]: ...


class Carrier(Protocol):
    """State carried from one batch to the next besides weights and optimizer: saved with them (`tasks.api.Task`)."""

    carries: bool

    def carried(self) -> dict[str, torch.Tensor]: ...
    def restore_carried(self, tensors: dict[str, torch.Tensor]) -> None: ...
    def drop_carried(self) -> None: ...


class LossSums(Protocol):
    """Sums over the tokens of a batch."""

    @property
    def smoothed(self) -> torch.Tensor: ...
    @property
    def nll(self) -> torch.Tensor: ...
    @property
    def num_tokens(self) -> int: ...


@dataclass(frozen=True)
class Objective:
    """What a loop trains: a model, its loss on a batch, the batches, and how to validate it."""

    model: nn.Module
    loss_of: Callable[[Any, float], LossSums]  # of a batch, and the progress of the run from 0 to 1
    batches: Batches
    validate: Callable[[RunState, StopFlag], dict[str, Any] | None]
    task: Carrier | None = None


@dataclass(frozen=True)
class Surroundings:
    """Where a loop saves and reports, and what ends it: the clock or a stop."""

    folder: Path  # of the checkpoints
    log: MetricsLog
    progress: Progress
    clock: Clock
    stop: StopFlag
    processes: OneProcess = ALONE
