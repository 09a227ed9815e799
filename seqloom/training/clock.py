"""The end and the progress of a run: by updates, by epochs, or by the wall clock."""

import re
import time

from seqloom.config import TrainConfig
from seqloom.errors import UsageError
from seqloom.training.state import RunState

MOST_AT_FIRST = 0.5  # progress by the clock at the first update, however long the data took: its rate is then no end's
MOST_VALIDATING = 0.1  # share of the time that validations may take, in a run with a budget


class Clock:
    """Counts the seconds of all starts of a run, and the share of the run that is done.

    With a budget the run must be finished and averaged when it is over, so the time that takes is kept free.
    What a killed run did after its last checkpoint is done again and not charged: its seconds are in the checkpoint.
    """

    def __init__(self, config: TrainConfig, budget: float | None, spent: float, began: float) -> None:
        self.config, self.budget, self.spent, self.began = config, budget, spent, began
        self.reserve = 0.03 * budget if budget else 0.0
        self.validating = 0.0
        self.agreed: float | None = None  # the reading that several processes go by: that of process 0

    def seconds(self) -> float:
        return self.own_seconds() if self.agreed is None else self.agreed

    def own_seconds(self) -> float:
        """Read the clock of this process."""
        return self.spent + time.monotonic() - self.began

    def keep_free(self, seconds: float) -> None:
        """Keep this many seconds free for the end of the run, at most a quarter of the budget."""
        if self.budget:
            self.reserve = min(seconds, 0.25 * self.budget)

    def validated(self, seconds: float) -> None:
        """Note the seconds that a validation took; the end of the run needs as many again."""
        self.validating += seconds
        self.keep_free(2.5 * seconds + 3.0)

    def may_validate(self) -> bool:
        """Whether there is time to validate: with a budget, validations may take a tenth of the time so far."""
        return not self.budget or self.validating <= MOST_VALIDATING * self.seconds()

    def progress(self, state: RunState, batches_per_epoch: int) -> float:
        """Return the progress from 0 to 1, by whichever limit is nearest; 0 for a run without an end."""
        shares = [0.0]
        if self.config.max_steps:
            shares.append(state.step / self.config.max_steps)
        if self.config.max_epochs:
            shares.append((state.epoch + state.batch / batches_per_epoch) / self.config.max_epochs)
        if self.budget:
            share = self.seconds() / max(1e-9, self.budget - self.reserve)
            shares.append(share if state.step else min(share, MOST_AT_FIRST))
        return min(1.0, max(shares))

    def reason_to_end(self, state: RunState) -> str:
        """Return why the run is over; empty while it is not."""
        config = self.config
        if config.max_steps and state.step >= config.max_steps:
            return f"train.max_steps = {config.max_steps} reached"
        if config.max_epochs and state.epoch >= config.max_epochs:
            return f"train.max_epochs = {config.max_epochs} reached"
        if self.budget and self.seconds() >= self.budget - self.reserve:
            return "the budget is used"
        if config.patience and state.validations_since_best >= config.patience:
            return f"no better validation loss in {config.patience} validations"
        return ""


def parse_duration(text: str) -> float:
    """Parse `90`, `45s`, `20m` or `1h30m` into seconds."""
    text = text.strip()
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", f"{text}s" if text.isdecimal() else text)
    seconds = sum(int(n or 0) * size for n, size in zip(match.groups(), (3600, 60, 1), strict=True)) if match else 0
    if not seconds:
        raise UsageError(f"--budget {text}: want a time such as 20m, 1h30m or 90s")
    return float(seconds)
