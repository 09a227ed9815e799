"""What a translator asks of an engine, and what an engine is. Nothing here needs torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SampleOptions, SearchOptions
from seqloom.runtime.parts import Part


@dataclass(frozen=True, slots=True)
class Search:
    """The n_best outputs of each part."""

    options: SearchOptions

    @property
    def num(self) -> int:
        """Outputs a text."""
        return self.options.n_best

    @property
    def rows(self) -> int:
        """Hypotheses that a sentence holds at once."""
        return self.options.beam


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Outputs that differ from their first free token on."""

    options: SearchOptions
    num: int

    @property
    def rows(self) -> int:
        return self.num * self.options.beam


@dataclass(frozen=True, slots=True)
class Sample:
    """Outputs by chance, which follows from the seed and the place of each part."""

    options: SearchOptions
    how: SampleOptions
    seed: int

    @property
    def num(self) -> int:
        return self.how.num

    @property
    def rows(self) -> int:
        return self.how.num


Request = Search | Alternatives | Sample


class Engine(Protocol):
    """Something that runs a model. The torch engine answers everything; others say what they lack."""

    name: str

    def lacks(self, request: Request, parts: Sequence[Part]) -> str:
        """Why it cannot answer; empty when it can."""
        ...

    def find(self, request: Request, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        """The outputs of each part, in the order given."""
        ...


def batches_by_length(parts: Sequence[Part], size: int) -> list[list[int]]:
    """The places of the parts in batches of at most `size`, sorted by length, so that little is padding."""
    order = sorted(range(len(parts)), key=lambda place: len(parts[place].ids))
    return [order[start : start + size] for start in range(0, len(order), size)]
