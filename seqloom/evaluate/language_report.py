"""How well a model foresees a text: what each token cost it in -log p, added up over lines.

    perplexity = exp(sum -log p / tokens)        bits per character = sum -log p / (log 2 * characters)

Perplexity depends on what a token is; bits per character compare models with any tokens. Line ends are characters.
Neighbouring tokens cost alike, so the 95 % interval draws whole blocks of lines (Kunsch 1989), not tokens.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluate.metrics import Measurement, Sums
from seqloom.evaluate.significance import Difference, Estimate, compare, estimate

MOST_BLOCKS, BLOCK_TOKENS = 200, 256  # so many blocks at most, of so many tokens at least
NAMES = {
    "perplexity": ("perplexity a token", ".3f"),
    "nats_per_token": ("nats a token", ".4f"),
    "nats_per_character": ("nats a character", ".4f"),
    "bits_per_character": ("bits a character", ".4f"),
}
FORMULAS = {
    "perplexity": lambda nll, tokens, chars: np.exp(nll / tokens),
    "nats_per_token": lambda nll, tokens, chars: nll / tokens,
    "nats_per_character": lambda nll, tokens, chars: nll / chars,
    "bits_per_character": lambda nll, tokens, chars: nll / chars / np.log(2),
}


@dataclass(frozen=True)
class Rival:
    """Another model on the same text, each with as much context as it can have: bits a character, ours less theirs."""

    model: str
    bits_per_character: float
    difference: Difference

    def render(self) -> str:
        found = self.difference
        return (
            f"against {self.model}, {self.bits_per_character:.4f} bits a character: {found.difference:+.4f}  "
            f"[{found.low:+.4f}, {found.high:+.4f}], p = {found.p_value:.3f} (less is better)"
        )


@dataclass(frozen=True)
class LanguageReport:
    about: dict[str, Any]  # model, text, lines, characters, tokens, unknown, seconds
    scores: dict[str, Estimate]
    with_context: dict[str, Estimate]  # each token with at least half a window before it; empty: there is no window
    warnings: list[str]
    against: Rival | None = None

    def to_json(self) -> dict[str, Any]:
        def plain(scores: dict[str, Estimate]) -> dict[str, Any]:
            return {name: asdict(found) for name, found in scores.items()}

        found = {**self.about, **plain(self.scores), "with_context": plain(self.with_context)}
        return {**found, "against": asdict(self.against) if self.against else None, "warnings": self.warnings}

    def render(self) -> str:
        about = self.about
        head = (
            f"{about['text']}: {about['lines']:,} lines, {about['characters']:,} characters, {about['tokens']:,} tokens"
        )
        lines = [head, *rows_of(self.scores)]
        if self.with_context:
            lines += [f"with at least {about['window'] // 2} tokens before each, where the text has them:"]
            lines += rows_of(self.with_context)
        if self.against:
            lines += [self.against.render()]
        speed = about["tokens"] / about["seconds"]
        lines += [f"95 % intervals over blocks of lines; {speed:,.0f} tokens a second", *self.warnings]
        return "\n".join(lines)


def rows_of(scores: dict[str, Estimate]) -> list[str]:
    return [
        f"  {title:<20} {scores[name].score:{form}}  [{scores[name].low:{form}}, {scores[name].high:{form}}]"
        for name, (title, form) in NAMES.items()
    ]


def estimate_costs(costs: NDArray[np.float64], tokens: Any, chars: Any) -> dict[str, Estimate]:
    """Every score of a text from the cost, the tokens and the characters of each of its lines, (lines,) each."""
    blocks = blocks_of(costs, tokens, chars)
    return estimate({name: measure(name, blocks) for name in FORMULAS})


def compare_costs(rival: str, ours: NDArray[np.float64], theirs: NDArray[np.float64], tokens: Any, chars: Any) -> Rival:
    """Paired over the same blocks of lines, which our tokens make, whatever tokens the other model has."""
    name = "bits_per_character"
    both = [{name: measure(name, blocks_of(costs, tokens, chars))} for costs in (ours, theirs)]
    return Rival(rival, both[1][name].score, compare(*both)[name])


def blocks_of(costs: NDArray[np.float64], tokens: Any, chars: Any) -> Sums:
    return add_up_blocks(np.stack([costs, tokens, chars], 1).astype(np.float64))


def measure(name: str, blocks: Sums) -> Measurement:
    return Measurement(blocks, lambda sums: float(FORMULAS[name](*sums)), f"blocks:{len(blocks)}|lines")


def add_up_blocks(lines: Sums) -> Sums:
    """Sums over blocks of neighbouring lines with about as many tokens each: (lines, 3) -> (blocks, 3)."""
    before = np.cumsum(lines[:, 1]) - lines[:, 1]
    size = max(BLOCK_TOKENS, lines[:, 1].sum() / MOST_BLOCKS)
    firsts = np.flatnonzero(np.diff(before // size, prepend=-1.0))
    return np.add.reduceat(lines, firsts, axis=0)
