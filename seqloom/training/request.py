"""One call of `seqloom train`: what the user asked for, and the same with its settings resolved."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.given import Given
from seqloom.data.read_as import AS_FOUND, ReadAs

Tell = Callable[[str], None]  # receives each notice for the person at the terminal


def tell_nothing(text: str) -> None:
    """Drop the notice."""


@dataclass(frozen=True)
class TrainRequest:
    """One call of `seqloom.train`; see there for the fields. Shorthands such as `seed` are overrides here."""

    pairs: tuple[str | Given, ...]
    out: Path
    valid: str | Given | None = None
    mix: tuple[str, ...] = ()
    recipe: str | None = None
    overrides: tuple[str, ...] = ()
    budget: float | None = None  # seconds
    columns: ReadAs = AS_FOUND
    tokenizer: Path | None = None
    allow_loss: bool = False
    quiet: bool = False
    tell: Tell = tell_nothing

    @property
    def started(self) -> bool:
        """Whether the folder holds a run whose data and tokenizer are ready: run.json is written after them."""
        return (self.out / "run.json").is_file()


@dataclass(frozen=True)
class Settled:
    """A request with its settings resolved: all that the run depends on but the content of the files."""

    request: TrainRequest
    config: Config
    specs: tuple[CorpusSpec, ...]
    valid_specs: tuple[CorpusSpec, ...] = ()
    tokenizer: Path | None = None  # a folder to take the tokenizer from; None: learn one, or keep the run's own


def init_setting(origin: str | Path) -> str:
    """Write --init as an override; quoted, because TOML could take the folder's name for a number."""
    return f"train.init={json.dumps(str(origin), ensure_ascii=False)}"
