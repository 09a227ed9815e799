"""The state of a run: all that the next step depends on besides weights and optimizer. JSON in the checkpoint."""

import dataclasses
import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from seqloom.errors import ModelError
from seqloom.runtime.checkpoints import STATE

COUNTS = ("step", "epoch", "batch", "tokens", "clipped", "skipped", "skipped_in_row", "logged_tokens")


@dataclass
class RunState:
    step: int = 0  # updates done
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # over all starts so far
    clipped: int = 0  # updates whose gradient was clipped
    skipped: int = 0  # updates left out for a non-finite loss or gradient
    skipped_in_row: int = 0
    logged_nll: float = 0.0  # sums since the last line of the log
    logged_tokens: int = 0
    validation_due: bool = False  # a stop came between an update and its validation
    valid_losses: dict[int, float] = field(default_factory=dict)  # by step
    valid_scores: dict[str, float] = field(default_factory=dict)  # of the last validation: bleu, accuracy ...
    samples: list[str] = field(default_factory=list)  # the answers of the last validation

    @property
    def best_step(self) -> int | None:
        """The earliest step with the lowest validation loss."""
        return next(iter(self.steps_by_loss()), None)

    def steps_by_loss(self) -> list[int]:
        """Return the validated steps, best first; a loss that is NaN comes last."""

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
    def from_json(cls, saved: dict[str, Any], file: Path | None = None) -> "RunState":
        try:
            losses = {int(step): float(loss) for step, loss in saved["valid_losses"].items()}
            state = {**saved, "valid_losses": losses}
            msgspec.convert(state, cls)  # checks the types; the values stay as they were saved
            counts = [saved[name] for name in COUNTS if name in saved]
            if min(counts) < 0 or max(counts) >= 2**63 or not 0 <= saved.get("seconds", 0.0) < math.inf:
                raise ValueError("a number that is negative or too large")
            return cls(**state)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            where = file or STATE
            raise ModelError(f"{where}: the state is damaged, or of another version of Seqloom: {error}") from None


def seed_of(*numbers: int) -> int:
    """Return a 63-bit seed that depends on all the numbers: that of a step follows from (seed, step, part)."""
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
