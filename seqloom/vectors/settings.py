"""Settings of vector training, with their defaults and limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seqloom.errors import UsageError, did_you_mean

# method: (window, epochs)
METHODS = {"skipgram": (5, 5), "cbow": (5, 5), "glove": (10, 15)}
LIMITS = {"size": 10_000, "window": 100, "epochs": 100_000, "min_count": 10**9, "negative": 1000, "threads": 1024}

Progress = Callable[[int, Mapping[str, float | str]], None]  # words done, fields to show


@dataclass(frozen=True)
class VectorSettings:
    """Settings of vector training; `window` and `epochs` None = the default of the method."""

    method: str = "skipgram"
    size: int = 100  # E
    window: int | None = None  # words to each side
    epochs: int | None = None
    min_count: int = 5  # rarer words get no vector
    negative: int = 5  # K, noise words for each pair
    seed: int = 1
    threads: int | None = None  # None = all cores

    @property
    def reach(self) -> int:
        """The window that is used."""
        return METHODS[self.method][0] if self.window is None else self.window

    @property
    def rounds(self) -> int:
        """The number of epochs that is used."""
        return METHODS[self.method][1] if self.epochs is None else self.epochs

    def check(self) -> None:
        """UsageError for an unknown method or a number out of range."""
        if self.method not in METHODS:
            near = did_you_mean(self.method, METHODS)
            raise UsageError(f"--method {self.method}: want one of {', '.join(METHODS)}.{near}")
        for name, most in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise UsageError(f"--{name.replace('_', '-')} {value}: want a whole number from 1 to {most:,}.")
        if self.seed < 0:
            raise UsageError(f"--seed {self.seed}: want 0 or more.")
