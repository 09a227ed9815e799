"""The end of a training run: settings that need to know it, and the report of clipped steps."""

import pytest

from seqloom.config import load_config
from seqloom.errors import UsageError
from seqloom.training.gradient_clipping import describe_clipping
from seqloom.training.run_end import check_end


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("train.schedule=halving", "train.schedule = 'halving' needs to know the end"),
        ("train.schedule=cosine", "train.schedule = 'cosine' needs to know the end"),
        ("train.scheduled_sampling=0.2 train.patience=3", "train.scheduled_sampling = 0.2 needs to know the end"),
        ("train.schedule=constant", "when to stop?"),
    ],
)
def test_what_grows_or_falls_over_the_run_needs_an_end(settings: str, said: str) -> None:
    config = load_config(None, settings.split())
    with pytest.raises(UsageError) as caught:
        check_end(config, None)
    assert said in str(caught.value)
    check_end(config, 60.0)
    check_end(load_config(None, [*settings.split(), "train.max_epochs=2"]), None)


@pytest.mark.parametrize(
    ("clipped", "step", "norm", "said"),
    [
        (3, 4, 1.0, ". The gradient was clipped to 1 in 75% of the steps"),
        (0, 4, 0.5, ". The gradient was clipped to 0.5 in 0% of the steps"),
        (0, 4, 0.0, ""),
    ],
)
def test_the_share_of_clipped_steps_is_reported(clipped: int, step: int, norm: float, said: str) -> None:
    assert describe_clipping(clipped, step, norm) == said
