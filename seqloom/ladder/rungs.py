"""The rungs of the ladder: the lineage in the order of history. Each is a recipe that can be trained alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import UsageError, did_you_mean
from seqloom.ladder.tables import LENGTH_CHART, LOSS_CHART, SCORES_CHART

FOLDER = "ladder"  # of the rungs' recipes
TAKEN = {  # names in the ladder's folder that a rung cannot have; "report" would be confused with report.*
    "tokenizer", "lock", "ladder.json", "report", "report.json", "report.md", "report.html",
    SCORES_CHART, LENGTH_CHART, LOSS_CHART,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rung:
    name: str  # also the name of its run folder
    recipe: str  # what `seqloom train --recipe` takes
    family: str  # the chart of lengths shows the best rung of each family
    before: str = ""  # the rung that it is compared with; if that one is missing, the nearest rung above it


def built_in(name: str, family: str, before: str) -> Rung:
    return Rung(name, f"{FOLDER}/{name}", family, before)


RUNGS = (
    built_in("rnn", "fixed vector", ""),
    built_in("lstm", "fixed vector", "rnn"),
    built_in("gru", "fixed vector", "lstm"),
    built_in("lstm-reversed", "fixed vector, source reversed", "lstm"),
    built_in("rnnsearch-additive", "attention", "gru"),
    built_in("rnnsearch-dot", "attention", "rnnsearch-additive"),
    built_in("rnnsearch-scaled-dot", "attention", "rnnsearch-additive"),
    built_in("rnnsearch-gaussian", "attention", "rnnsearch-additive"),
    built_in("rnnsearch-bilinear", "attention", "rnnsearch-additive"),
    built_in("luong", "attention", "rnnsearch-bilinear"),
    built_in("deep-bidirectional", "deep attention", "rnnsearch-additive"),
    built_in("transformer", "Transformer", "deep-bidirectional"),
)


def choose_rungs(names: str | None) -> list[Rung]:
    """Return all rungs, or the named ones in the given order; a recipe file of the user is a rung too."""
    if names is None:
        return list(RUNGS)
    known = {rung.name: rung for rung in RUNGS}
    chosen = [own_rung(name) if name.endswith(".toml") else known.get(name, name) for name in split(names)]
    if strange := [rung for rung in chosen if isinstance(rung, str)]:
        raise UsageError(
            f"--rungs {strange[0]}: no such rung.{did_you_mean(strange[0], known)} Rungs: {', '.join(known)}; "
            "a recipe file of your own ends in .toml."
        )
    rungs = [rung for rung in chosen if isinstance(rung, Rung)]
    folders = [rung.name for rung in rungs]
    if not rungs or len(set(folders)) < len(folders) or TAKEN & set(folders):
        raise UsageError(
            f"--rungs {names}: want different names, separated by commas; each is the name of a folder. "
            f"Not allowed: {', '.join(sorted(TAKEN))}."
        )
    return rungs


def split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def own_rung(file: str) -> Rung:
    return Rung(Path(file).stem, file, Path(file).stem)


def step_before(rung: Rung, done: Sequence[Rung]) -> Rung | None:
    """Return the rung to compare with, among the finished ones above this one."""
    above = {other.name: other for other in done[: done.index(rung)]}
    return above.get(rung.before) or next(reversed(above.values()), None)
