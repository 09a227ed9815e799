"""Evaluation report: scores with intervals, scores by source length, the worst outputs, and another model's scores."""

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seqloom.config import TASKS
from seqloom.metrics.measures import TER_SECONDS, Measurement, distinct, measure
from seqloom.metrics.significance import Difference, Estimate, compare, estimate
from seqloom.metrics.testset import Item, fingerprint

LENGTHS = (5, 10, 15, 20, 30, 40, 60)  # upper limit of each bucket
LETTER_LENGTHS = (4, 6, 8, 10, 12, 15, 20, 40)
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")  # Thai .. Han
FEW = 100  # with fewer sentences the intervals are unreliable
WORST = 5
NO_FOUR_WORDS = (
    "BLEU counts sequences of four words, and no output is that long: it is 0 for any model. "
    "Look at exact match and the error rates."
)


@dataclass(frozen=True)
class Bucket:
    """Scores of the sentences whose source has `least` to `most` units; `most` is None for the last bucket."""

    unit: str
    least: int
    most: int | None
    sentences: int
    scores: dict[str, float]


@dataclass(frozen=True)
class Bad:
    """An output that is far from every reference."""

    lines: tuple[int, ...]
    chrf: float
    source: str
    output: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Rival:
    """Another model on the same sentences: its scores, and the differences (ours minus its)."""

    name: str
    scores: dict[str, Estimate]
    differences: dict[str, Difference]


@dataclass(frozen=True)
class Report:
    """The results of evaluating a model that writes text."""

    scores: dict[str, Estimate]
    sentences: int
    lines: int
    test_hash: str
    by_length: list[Bucket]
    worst: list[Bad]
    warnings: list[str]
    against: Rival | None = None
    about: dict[str, Any] = dataclasses.field(default_factory=dict)  # further facts: params, speed, ...
    task: str = "translate"
    diversity: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)  # of outputs, of references
    baseline: Rival | None = None  # outputs that a useful model must beat; `against` is another model
    outputs: list[str] = dataclasses.field(default_factory=list)  # one per record of the file; unused ones are empty

    def to_json(self) -> dict[str, Any]:
        """One flat JSON object; a metric that was left out is null. It has no outputs: a file of their own has them."""
        rest = dataclasses.asdict(self)
        del rest["outputs"]
        scores, about = rest.pop("scores"), rest.pop("about")
        rest["by_length"] = [bucket | bucket.pop("scores") for bucket in rest["by_length"]]
        return {name: scores.get(name) for name in metrics_of(self.task)} | about | rest


def make_report(
    items: list[Item],
    outputs: Sequence[str],
    *,
    target_lang: str = "",
    task: str = "translate",
    rival: tuple[str, Sequence[str]] | None = None,
    known: dict[str, Measurement] | None = None,
    rival_known: dict[str, Measurement] | None = None,
    baseline: tuple[str, Sequence[str]] | None = None,
    about: dict[str, Any] | None = None,
    warnings: Sequence[str] = (),
) -> Report:
    """Measure the outputs for the items.

    `rival` and `baseline` are each the name of another model and its outputs. `known` and `rival_known` are metrics
    that the caller has already measured.
    """
    references = [item.references for item in items]
    measure_texts = partial(measure, references=references, names=metrics_of(task), target_lang=target_lang)
    found = measure_texts(outputs) | (known or {})
    measured = {name: found[name] for name in metrics_of(task) if name in found}
    return Report(
        scores=estimate(measured),
        sentences=len(items),
        lines=sum(len(item.lines) for item in items),
        test_hash=fingerprint(items),
        by_length=bucket_by_length([item.source for item in items], measured),
        worst=find_worst(items, outputs, found.get("chrf") or measure(outputs, references, names=["chrf"])["chrf"]),
        warnings=[*warnings, *doubts(len(items), measured)],
        against=compare_with(rival[0], measured, measure_texts(rival[1]) | (rival_known or {})) if rival else None,
        baseline=compare_with(baseline[0], measured, measure_texts(baseline[1])) if baseline else None,
        about=about or {},
        task=task,
        diversity=compare_diversity(outputs, references) if TASKS[task].diversity else {},
    )


def metrics_of(task: str) -> tuple[str, ...]:
    """The metrics of a task that writes texts; those of translation for any other."""
    return TASKS[task].metrics or TASKS["translate"].metrics


def compare_diversity(outputs: Sequence[str], references: list[tuple[str, ...]]) -> dict[str, tuple[float, float]]:
    """distinct-1 and distinct-2 of the outputs and of equally many references."""
    people = [known[0] for known in references]
    return {f"distinct_{size}": (distinct(outputs, size), distinct(people, size)) for size in (1, 2)}


def compare_with(name: str, ours: dict[str, Measurement], theirs: dict[str, Measurement]) -> Rival:
    return Rival(name, estimate(theirs), compare(ours, theirs))


def doubts(num_sentences: int, measured: dict[str, Measurement]) -> list[str]:
    """Warnings about the evaluation itself."""
    found = []
    if num_sentences < FEW:
        found.append(
            f"Only {num_sentences} sentences: the intervals are rough, and small differences cannot be detected."
        )
    four_grams = measured["bleu"].statistics[:, -1] if "bleu" in measured else None  # of each output
    if four_grams is not None and not four_grams.any():
        found.append(NO_FOUR_WORDS)
    if "ter" not in measured and "token_error_rate" in measured:  # which both belong to translation
        found.append(f"TER is left out: it would take longer than {TER_SECONDS:.0f} s on outputs as long as these.")
    return found


def bucket_by_length(sources: Sequence[str], measured: dict[str, Measurement]) -> list[Bucket]:
    """The first two metrics by source length, counted in words or in the unit that `unit_of` chooses."""
    unit = unit_of(sources)
    lengths = np.array([len(source.split() if unit == "words" else source.strip()) for source in sources])
    ends: list[int | None] = [*(LETTER_LENGTHS if unit == "letters" else LENGTHS), None]
    buckets, least = [], 1
    for most in ends:
        rows = (lengths >= least) & (lengths <= (math.inf if most is None else most))
        if rows.any():
            scores = {name: measured[name].score_of(rows) for name in list(measured)[:2]}
            buckets.append(Bucket(unit, least, most, int(rows.sum()), scores))
        least = (most or 0) + 1
    return buckets


def unit_of(sources: Sequence[str]) -> str:
    """The unit of source length: words; letters if most sources are one word; characters in scripts without spaces."""
    if float(np.median([len(source.split()) for source in sources])) > 1:
        return "words"
    unspaced = sum(UNSPACED.search(source) is not None for source in sources)
    return "characters" if 2 * unspaced > len(sources) else "letters"


def find_worst(items: list[Item], outputs: Sequence[str], chrf: Measurement) -> list[Bad]:
    """The outputs with the lowest sentence chrF, worst first, without those that equal a reference."""
    scores = chrf.sentence_scores()
    order = [int(i) for i in np.argsort(scores, kind="stable") if outputs[i].strip() not in items[i].references]
    return [
        Bad(items[i].lines, float(scores[i]), items[i].source, outputs[i], items[i].references) for i in order[:WORST]
    ]
