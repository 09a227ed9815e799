"""What a search is asked for, checked in one place, before any model runs. Zero turns an option off."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.errors import UsageError

if TYPE_CHECKING:  # a wrong option is told before torch is loaded
    from torch import Tensor

MOST_BEAM = 1000  # outputs of one sentence at once; more is a slip of the keyboard: it would take all the memory
MOST_PENALTY = 10.0  # papers use 0.2 to 1; length ** penalty must stay a number


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What greedy and beam search obey; `decode/search.py` has the rules."""

    beam: int = 5  # W
    n_best: int = 1
    length_penalty: float = 1.0
    coverage_penalty: float = 0.0
    min_length: int = 0  # tokens before EOS
    no_repeat_ngram: int = 0  # no group of this many tokens comes twice
    max_length: int | None = None  # tokens, EOS included; None = 2 x source length + 50

    def __post_init__(self) -> None:
        complain([*self.faults()])

    def faults(self) -> Iterator[str]:
        if not 1 <= self.n_best <= self.beam <= MOST_BEAM:
            yield f"beam = {self.beam}, n_best = {self.n_best}: want 1 <= n_best <= beam <= {MOST_BEAM}"
        for name in ("length_penalty", "coverage_penalty"):
            if not 0 <= (got := getattr(self, name)) <= MOST_PENALTY:  # also refuses nan
                yield f"{name} = {got}: want 0 to {MOST_PENALTY:g}"
        for name in ("min_length", "no_repeat_ngram"):
            if (got := getattr(self, name)) < 0:
                yield f"{name} = {got}: want 0 (off) or more"
        if self.max_length is not None and self.max_length < 1:
            yield f"max_length = {self.max_length}: want at least 1 token"
        elif self.max_length is not None and self.min_length >= self.max_length:
            yield f"min_length = {self.min_length}: want less than max_length = {self.max_length}, which counts the end"

    def limit(self, source_length: int) -> int:
        """The most tokens an output may have, EOS included; so has the source."""
        return 2 * source_length + 50 if self.max_length is None else self.max_length

    def limits(self, source_lengths: "Tensor") -> "Tensor":
        """The same for each sentence (B,); UsageError where no output can be as long as it must."""
        limits = 2 * source_lengths + 50 if self.max_length is None else source_lengths * 0 + self.max_length
        shortest = int(source_lengths.min())
        if self.min_length >= self.limit(shortest):
            raise UsageError(
                f"min_length = {self.min_length}: the output for a source of {shortest} tokens is cut at "
                f"{self.limit(shortest)}, its end included; lower min_length"
            )
        return limits


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How tokens are drawn: p(token) ** (1 / temperature), from the top_k likeliest that hold top_p of it."""

    num: int = 1  # outputs a sentence
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        complain([*self.faults()])

    def faults(self) -> Iterator[str]:
        if not 1 <= self.num <= MOST_BEAM:
            yield f"{self.num} samples a sentence: want 1 to {MOST_BEAM}"
        if not 0.01 <= self.temperature <= 100:
            yield f"temperature = {self.temperature}: want 0.01 to 100 (near 0 is greedy, 1 the model's own)"
        if self.top_k < 0:
            yield f"top_k = {self.top_k}: want 0 (off) or more"
        if not 0 < self.top_p <= 1:
            yield f"top_p = {self.top_p}: want above 0 up to 1 (off)"


def complain(faults: list[str]) -> None:
    """One UsageError for all that is wrong."""
    if faults:
        raise UsageError("; ".join(faults))


def check_vocabulary(rows: int, vocab_size: int, asked: str) -> None:
    """More hypotheses than there are tokens: asked for by mistake."""
    if rows > vocab_size:
        raise UsageError(f"{asked}: the model's vocabulary has {vocab_size:,} tokens; want at most that many")
