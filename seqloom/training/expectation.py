"""What can be expected of a run: how far its budget goes, and that a model that saw little of its data knows little.

How far a budget goes follows from the speed of the first updates:

updates in all = updates so far + seconds left / seconds per update
epochs         = updates in all * batches per update / batches per epoch
"""

from collections.abc import Callable

from seqloom.config import TrainConfig
from seqloom.runtime.run_facts import RunFacts
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


def tell_how_little(facts: RunFacts, tell: Callable[[str], None]) -> None:
    """Say that little can be expected of a model that has not seen all of its data."""
    if facts.passes is not None and facts.passes < 1:
        updates = "1 update" if facts.step == 1 else f"{facts.step:,} updates"
        share = f"{facts.passes:.0%}" if facts.passes >= 0.01 else "less than 1 %"
        tell(
            f"less than one epoch: {updates} saw {share} of the training data. Expect little "
            "of this model; train it longer, or take a smaller one."
        )
