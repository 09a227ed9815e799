"""Report on a language model: perplexity and bits per character, from -log p of each token, summed over lines.

    perplexity = exp(sum -log p / tokens)        bits per character = sum -log p / (log 2 * characters)

Perplexity depends on the tokenizer; bits per character compare models with different tokenizers. Line ends count as
characters. Neighbouring tokens have correlated losses, so 95 % intervals resample whole blocks of lines (Kunsch 1989).
With few blocks all resamples are nearly the same, so there is no interval and no p: nan here, null in JSON.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.measures import Measurement, Sums
from seqloom.metrics.significance import Difference, Estimate, compare, estimate

MOST_BLOCKS, BLOCK_TOKENS = 200, 256  # at most so many blocks, of at least so many tokens each
FEWEST_BLOCKS = 10
TOO_FEW = (
    f"No intervals: they need at least {FEWEST_BLOCKS} blocks of whole lines, with {BLOCK_TOKENS} tokens or more each; "
    "give a longer text, or one with more line ends."
)
NAMES = {
    "perplexity": ("perplexity per token", ".3f"),
    "nats_per_token": ("nats per token", ".4f"),
    "nats_per_character": ("nats per character", ".4f"),
    "bits_per_character": ("bits per character", ".4f"),
}
FORMULAS = {
    "perplexity": lambda nll, tokens, chars: np.exp(nll / tokens),
    "nats_per_token": lambda nll, tokens, chars: nll / tokens,
    "nats_per_character": lambda nll, tokens, chars: nll / chars,
    "bits_per_character": lambda nll, tokens, chars: nll / chars / np.log(2),
}


@dataclass(frozen=True)
class Rival:
    """Another model on the same text, each model with its largest context: bits per character, ours minus theirs."""

    model: str
    bits_per_character: float
    difference: Difference | None
    why_not: str = ""  # the reason if there is no difference

    def render(self) -> str:
        head, found = f"against {self.model}, {self.bits_per_character:.4f} bits per character: ", self.difference
        if found is None:
            return f"{head}not compared: {self.why_not}"
        sure = "" if math.isnan(found.low) else f"  [{found.low:+.4f}, {found.high:+.4f}], p = {found.p_value:.3f}"
        return f"{head}{found.difference:+.4f}{sure} (lower is better)"


@dataclass(frozen=True)
class LanguageReport:
    """The results of evaluating a language model on a text."""

    about: dict[str, Any]  # model, text, lines, characters, tokens, unknown, seconds
    scores: dict[str, Estimate]
    with_context: dict[str, Estimate]  # each token with at least half a window of context; empty: no fixed window
    warnings: list[str]
    against: Rival | None = None

    def to_json(self) -> dict[str, Any]:
        def plain(scores: dict[str, Estimate]) -> dict[str, Any]:
            return {name: asdict(found, dict_factory=without_nan) for name, found in scores.items()}

        found = {**self.about, **plain(self.scores), "with_context": plain(self.with_context)}
        against = asdict(self.against, dict_factory=without_nan) if self.against else None
        return {**found, "against": against, "warnings": [*self.warnings, *self.doubts]}

    @property
    def doubts(self) -> list[str]:
        return [TOO_FEW] if math.isnan(self.scores["perplexity"].low) else []

    def render(self) -> str:
        about = self.about
        head = (
            f"{about['text']}: {about['lines']:,} lines, {about['characters']:,} characters, {about['tokens']:,} tokens"
        )
        lines = [head, *rows_of(self.scores)]
        if self.with_context:
            lines += [f"with at least {about['window'] // 2} tokens of context each, where the text has them:"]
            lines += rows_of(self.with_context)
        if self.against:
            lines += [self.against.render()]
        speed = about["tokens"] / about["seconds"]
        intervals = "" if self.doubts else "95 % intervals over blocks of lines; "
        lines += [f"{intervals}{speed:,.0f} tokens per second", *self.warnings, *self.doubts]
        return "\n".join(lines)


def without_nan(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields as a dict with nan as None, because JSON has no nan."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in fields}


def rows_of(scores: dict[str, Estimate]) -> list[str]:
    return [f"  {title:<20} {show(scores[name], form)}" for name, (title, form) in NAMES.items()]


def show(found: Estimate, form: str) -> str:
    interval = "" if math.isnan(found.low) else f"  [{found.low:{form}}, {found.high:{form}}]"
    return f"{found.score:{form}}{interval}"


def estimate_costs(costs: NDArray[np.float64], tokens: Any, chars: Any) -> dict[str, Estimate]:
    """Every score of a text, from the loss, the number of tokens and of characters of each line, (lines,) each."""
    blocks = blocks_of(costs, tokens, chars)
    found = estimate({name: measure(name, blocks) for name in FORMULAS})
    if len(blocks) < FEWEST_BLOCKS:
        return {name: replace(one, low=math.nan, high=math.nan) for name, one in found.items()}
    return found


def compare_costs(
    rival: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    tokens: Any,
    chars: Any,
    why_not: str = "",
) -> Rival:
    """Paired comparison over the same blocks of lines; our tokens define the blocks, also for the other model.

    `why_not`: the reason why a difference would be meaningless; then none is computed.
    """
    name = "bits_per_character"
    both = [measure(name, blocks_of(costs, tokens, chars)) for costs in (ours, theirs)]
    if why_not:
        return Rival(rival, both[1].score, None, why_not)
    found = compare({name: both[0]}, {name: both[1]})[name]
    if len(both[0].statistics) < FEWEST_BLOCKS:
        found = replace(found, low=math.nan, high=math.nan, p_value=math.nan)
    return Rival(rival, both[1].score, found)


def blocks_of(costs: NDArray[np.float64], tokens: Any, chars: Any) -> Sums:
    return add_up_blocks(np.stack([costs, tokens, chars], 1).astype(np.float64))


def measure(name: str, blocks: Sums) -> Measurement:
    return Measurement(blocks, lambda sums: float(FORMULAS[name](*sums)), f"blocks:{len(blocks)}|lines")


def add_up_blocks(lines: Sums) -> Sums:
    """Sums over blocks of neighbouring lines with about equally many tokens: (lines, 3) -> (blocks, 3)."""
    before = np.cumsum(lines[:, 1]) - lines[:, 1]
    size = max(BLOCK_TOKENS, lines[:, 1].sum() / MOST_BLOCKS)
    firsts = np.flatnonzero(np.diff(before // size, prepend=-1.0))
    return np.add.reduceat(lines, firsts, axis=0)
