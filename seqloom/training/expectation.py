"""What a run with a budget can be expected to reach, said after its first updates, when its speed is known.

updates in all = updates so far + seconds left / seconds per update
epochs         = updates in all * batches per update / batches per epoch
"""

from seqloom.config import TrainConfig
from seqloom.training.clock import Clock
from seqloom.training.speed import Timer
from seqloom.training.state import RunState


def expect(state: RunState, config: TrainConfig, clock: Clock, timer: Timer, batches_per_epoch: int) -> str:
    """Say how many updates and epochs the budget is enough for; `timer` has run since the first of the last updates."""
    if clock.budget is None:
        raise ValueError("a run without a budget has no such end")
    left = max(0.0, clock.budget - clock.reserve - clock.seconds())
    more = left / (timer.seconds() / timer.updates)
    epochs = state.epoch + (state.batch + more * config.accumulate) / batches_per_epoch
    text = f"budget: enough for about {round_number(state.step + more):,} updates, {epochs:.2g} epochs"
    if epochs >= 1:
        return text
    return (
        f"{text}. Expect little of a model that has not seen all of its data; give it more time, or a smaller recipe."
    )


def round_number(number: float) -> int:
    """Round to two digits: the speed of the first updates says no more."""
    return int(float(f"{number:.2g}"))
