"""Where a run stands: everything beside weights and optimizer that the next step depends on. JSON in the checkpoint."""

import dataclasses
import hashlib
from dataclasses import dataclass, field
from typing import Any


@dataclass
class RunState:
    step: int = 0  # updates done
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # spent so far, over all starts
    clipped: int = 0  # updates whose gradient was clipped
    skipped: int = 0  # updates left out for a non-finite loss or gradient
    skipped_in_row: int = 0
    logged_nll: float = 0.0  # sums since the last line of the log
    logged_tokens: int = 0
    validation_due: bool = False  # a stop came between an update and its validation
    valid_losses: dict[int, float] = field(default_factory=dict)  # by step
    valid_bleu: float = 0.0  # of the last validation
    samples: list[str] = field(default_factory=list)  # what the held-out sentences became last time

    @property
    def best_step(self) -> int | None:
        """The earliest step with the lowest validation loss."""
        return min(self.valid_losses, key=lambda step: (self.valid_losses[step], step), default=None)

    @property
    def validations_since_best(self) -> int:
        best = self.best_step
        return sum(step > best for step in self.valid_losses) if best is not None else 0

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "RunState":
        losses = {int(step): loss for step, loss in saved["valid_losses"].items()}
        return cls(**{**saved, "valid_losses": losses})


def seed_of(*numbers: int) -> int:
    """A 63-bit seed that depends on all the numbers: the random numbers of a step follow from (seed, step, part)."""
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
