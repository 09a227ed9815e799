"""How probable a model finds the targets of a file: one row a pair, in order, and the perplexity of all of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data.account import Account
from seqloom.errors import DataError
from seqloom.workflows.given_pairs import HEADER, refuse_unequal, show_pairs

if TYPE_CHECKING:
    from seqloom.runtime.scoring import Score
    from seqloom.runtime.translator import Translator


@dataclass(frozen=True)
class Scored:
    """One pair; nan and no tokens where it cannot be scored."""

    line: int
    log_prob: float = math.nan
    mean: float = math.nan  # of a token
    num_tokens: int = 0
    tokens: list[tuple[str, float]] | None = None  # each with its log-probability, where they were asked for

    def render(self) -> str:
        """`log_prob<TAB>mean`, and with tokens a third cell of `piece:log_prob`s."""
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
        return math.exp(min(700.0, -self.log_prob / self.num_tokens))  # beyond that no float holds it

    def add(self, scored: Scored) -> None:
        self.account.keep(1)
        self.log_prob += scored.log_prob
        self.num_tokens += scored.num_tokens

    def render(self) -> str:
        lines = [HEADER] if self.header else []
        if self.account.excluded:
            lines.append(f"{self.account.render()}\nwhat is left out is nan in its row")
        lines.append(
            f"{self.account.kept:,} pairs, log-probability {self.log_prob:,.2f} over {self.num_tokens:,} tokens "
            f"(</s> counted): perplexity {self.perplexity:,.3f} a token"
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
    columns: str | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Summary:
    """Every record of PAIRS goes to `take`, in file order. Several folders are scored as an ensemble."""
    from seqloom.data.corpus import CorpusSpec, Fault, checked_rows
    from seqloom.runtime.scoring import score_pairs
    from seqloom.runtime.translator import Translator

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


def describe(translator: "Translator", line: int, found: "Score", per_token: bool) -> Scored:
    tokens = None
    if per_token:
        pieces = translator.tokenizers.target.pieces(found.ids)
        tokens = [*zip(pieces, found.token_log_probs, strict=True)]
    return Scored(line, found.log_prob, found.mean, len(found.ids), tokens)
