"""Where a run stands: everything beside weights and optimizer that the next step depends on. JSON in the checkpoint."""

import dataclasses
import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

from seqloom.errors import ModelError


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
    valid_scores: dict[str, float] = field(default_factory=dict)  # of the last validation: bleu, accuracy ...
    samples: list[str] = field(default_factory=list)  # what the held-out sentences became last time

    @property
    def best_step(self) -> int | None:
        """The earliest step with the lowest validation loss."""
        return next(iter(self.steps_by_loss()), None)

    def steps_by_loss(self) -> list[int]:
        """The validated steps, best first; a loss that is no number comes last."""

        def rank(step: int) -> tuple[float, int]:
            loss = self.valid_losses[step]
            return (loss if math.isfinite(loss) else math.inf), step

        return sorted(self.valid_losses, key=rank)

    @property
    def validations_since_best(self) -> int:
        best = self.best_step
        return sum(step > best for step in self.valid_losses) if best is not None else 0

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "RunState":
        try:
            losses = {int(step): float(loss) for step, loss in saved["valid_losses"].items()}
            return cls(**{**saved, "valid_losses": losses})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"the checkpoint's state is of another version of Seqloom: {error}") from None


def seed_of(*numbers: int) -> int:
    """A 63-bit seed that depends on all the numbers: the random numbers of a step follow from (seed, step, part)."""
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
