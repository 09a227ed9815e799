"""The learning rate of each step: linear warm-up to the peak, then the schedule.

    lr(step) = peak * min(1, step / warmup) * factor(step)

Rates per part of the model: part_rates.py.
"""

import math
from collections.abc import Callable

from seqloom.config import TrainConfig

DECAY_SHARE = 0.3  # of the run: the last part of warm-up-stable-decay
WARMUP_SHARE = 0.05  # of the run: the longest warm-up where the end is known only by the clock

# factor(step, warmup, progress): the learning rate after warm-up as a share of its peak. `progress` runs from 0 to 1.
SCHEDULES: dict[str, Callable[[int, int, float], float]] = {
    "constant": lambda step, warmup, progress: 1.0,
    "inverse_sqrt": lambda step, warmup, progress: math.sqrt(max(1, warmup) / max(1, warmup, step)),
    "cosine": lambda step, warmup, progress: 0.5 * (1 + math.cos(math.pi * min(1.0, progress))),
    "wsd": lambda step, warmup, progress: min(1.0, max(0.0, 1 - progress) / DECAY_SHARE),
    # Sutskever et al. 2014: 15 half epochs, 10 of them at the peak, then half as much in each.
    "halving": lambda step, warmup, progress: 0.5 ** max(0, min(14, int(15 * progress)) - 9),
}
NEEDS_AN_END = ("cosine", "wsd", "halving")


def learning_rate(config: TrainConfig, step: int, progress: float, by_clock: bool = False) -> float:
    """Return the learning rate of a step, counted from 1; `progress` of the run from 0 to 1.

    by_clock: the run ends by the wall clock, so its number of steps is not known, and warm-up is kept short.
    """
    warm = step / max(1, config.warmup)
    if by_clock:
        warm = max(warm, progress / WARMUP_SHARE)
    return config.learning_rate * min(1.0, warm) * SCHEDULES[config.schedule](step, config.warmup, progress)
