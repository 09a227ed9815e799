"""seqloom score: log-probabilities of the targets of a file, one row per pair in order, and their perplexity."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqloom.data.account import Account
from seqloom.data.corpus import CorpusSpec, Fault, ReadAs, checked_rows
from seqloom.errors import DataError
from seqloom.runtime.scoring import Score, score_pairs
from seqloom.runtime.translator import Translator
from seqloom.workflows.given_pairs import HEADER, refuse_unequal, show_pairs


@dataclass(frozen=True)
class Scored:
    """The score of one pair; nan and no tokens if it cannot be scored."""

    line: int
    log_prob: float = math.nan
    mean: float = math.nan  # per token
    num_tokens: int = 0
    tokens: list[tuple[str, float]] | None = None  # each with its log-probability, if requested

    def render(self) -> str:
        """The row `log_prob<TAB>mean`, with a third cell `piece:log_prob ...` if there are tokens."""
        cells = [f"{self.log_prob:.4f}", f"{self.mean:.4f}"]
        if self.tokens is not None:
            cells.append(" ".join(f"{piece}:{log_prob:.4f}" for piece, log_prob in self.tokens))
        return "\t".join(cells)

    def to_json(self) -> dict[str, Any]:
        known = bool(self.num_tokens)
        shown: dict[str, Any] = {
            "line": self.line,
            "log_prob": self.log_prob if known else None,  # JSON has no nan
            "mean": self.mean if known else None,
            "num_tokens": self.num_tokens,
        }
        return shown | ({"tokens": self.tokens} if self.tokens is not None else {})


@dataclass
class Summary:
    """All pairs together: perplexity = exp(-log_prob / tokens), </s> counted."""

    account: Account = field(default_factory=Account)
    log_prob: float = 0.0
    num_tokens: int = 0
    header: bool = False

    @property
    def perplexity(self) -> float:
        return math.exp(min(700.0, -self.log_prob / self.num_tokens))  # exp of more overflows

    def add(self, scored: Scored) -> None:
        self.account.keep(1)
        self.log_prob += scored.log_prob
        self.num_tokens += scored.num_tokens

    def render(self) -> str:
        lines = [HEADER] if self.header else []
        if self.account.excluded:
            lines.append(f"{self.account.render()}\nthe row of each of these is nan")
        lines.append(
            f"{self.account.kept:,} pairs, log-probability {self.log_prob:,.2f} over {self.num_tokens:,} tokens "
            f"(</s> counted): perplexity {self.perplexity:,.3f} per token"
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "log_prob": self.log_prob,
            "num_tokens": self.num_tokens,
            "perplexity": self.perplexity,
            "scored": self.account.kept,
            "total": self.account.total,
            "excluded": self.account.excluded,
        }


def score(
    folders: Sequence[Path],
    pairs: str,
    take: Callable[[Scored], None],
    *,
    per_token: bool = False,
    columns: str | ReadAs | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Summary:
    """Score every record of PAIRS and pass it to `take`, in file order. Several folders form an ensemble."""
    spec = CorpusSpec.parse(pairs, columns)
    translator = Translator.load_ensemble(folders, threads=threads, engine="torch")
    refuse_unequal(spec, translator.config.data)
    summary = Summary()
    for chunk in show_pairs(translator, checked_rows(spec, translator.config.data), score_pairs):
        for line, found in chunk:
            if not isinstance(found, Fault):
                scored = describe(translator, line, found, per_token)
                summary.add(scored)
                take(scored)
            elif found.kind == "header":
                summary.header = True
            else:
                summary.account.exclude(spec.name, found)
                take(Scored(line))
        progress(summary.account.total)
    if not summary.account.kept:
        raise DataError(f"{pairs}: no pair could be scored.\n{summary.account.render()}")
    return summary


def describe(translator: Translator, line: int, found: Score, per_token: bool) -> Scored:
    tokens = None
    if per_token:
        pieces = translator.tokenizers.target.pieces(found.ids)
        tokens = [*zip(pieces, found.token_log_probs, strict=True)]
    return Scored(line, found.log_prob, found.mean, len(found.ids), tokens)
