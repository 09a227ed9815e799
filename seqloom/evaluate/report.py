"""What an evaluation found: scores with intervals, by source length, the worst outputs, another model."""

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seqloom.evaluate.metrics import OF_TASK, TER_SECONDS, Measurement, distinct, measure
from seqloom.evaluate.significance import Difference, Estimate, compare, estimate
from seqloom.evaluate.testset import Item, fingerprint

LENGTHS = (5, 10, 15, 20, 30, 40, 60)  # the last of each bucket
LETTER_LENGTHS = (4, 6, 8, 10, 12, 15, 20, 40)
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")  # Thai .. Han
FEW = 100  # with fewer sentences the intervals themselves are unsure
WORST = 5


@dataclass(frozen=True)
class Bucket:
    """The sentences whose source has `least` to `most` of the unit; `most` is None for the last bucket."""

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
    """Another model on the same sentences: its scores, and ours minus its."""

    name: str
    scores: dict[str, Estimate]
    differences: dict[str, Difference]


@dataclass(frozen=True)
class Report:
    scores: dict[str, Estimate]
    sentences: int
    lines: int
    test_hash: str
    by_length: list[Bucket]
    worst: list[Bad]
    warnings: list[str]
    against: Rival | None = None
    about: dict[str, Any] = dataclasses.field(default_factory=dict)  # what the caller knows: params, speed, ...
    task: str = "translate"
    diversity: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)  # of outputs, of references
    baseline: Rival | None = None  # what an output must beat, where `against` is another model

    def to_json(self) -> dict[str, Any]:
        """One flat object; a metric that was left out is null."""
        rest = dataclasses.asdict(self)
        scores, about = rest.pop("scores"), rest.pop("about")
        rest["by_length"] = [bucket | bucket.pop("scores") for bucket in rest["by_length"]]
        return {name: scores.get(name) for name in OF_TASK[self.task]} | about | rest


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
    """Measure the outputs for the items; `rival` is the name of another model and its outputs, and so is `baseline`;
    `known` and `rival_known` are what the caller has measured already."""
    task = task if task in OF_TASK else "translate"
    references = [item.references for item in items]
    measure_texts = partial(measure, references=references, target_lang=target_lang, task=task)
    found = measure_texts(outputs) | (known or {})
    measured = {name: found[name] for name in OF_TASK[task] if name in found}
    return Report(
        scores=estimate(measured),
        sentences=len(items),
        lines=sum(len(item.lines) for item in items),
        test_hash=fingerprint(items),
        by_length=bucket_by_length([item.source for item in items], measured),
        worst=find_worst(items, outputs, measured["chrf"]),
        warnings=[*warnings, *doubts(len(items), measured)],
        against=compare_with(rival[0], measured, measure_texts(rival[1]) | (rival_known or {})) if rival else None,
        baseline=compare_with(baseline[0], measured, measure_texts(baseline[1])) if baseline else None,
        about=about or {},
        task=task,
        diversity=compare_diversity(outputs, references) if task == "dialogue" else {},
    )


def compare_diversity(outputs: Sequence[str], references: list[tuple[str, ...]]) -> dict[str, tuple[float, float]]:
    """distinct-1 and distinct-2 of the outputs, and of as many answers that people gave."""
    people = [known[0] for known in references]
    return {f"distinct_{size}": (distinct(outputs, size), distinct(people, size)) for size in (1, 2)}


def compare_with(name: str, ours: dict[str, Measurement], theirs: dict[str, Measurement]) -> Rival:
    return Rival(name, estimate(theirs), compare(ours, theirs))


def doubts(num_sentences: int, measured: dict[str, Measurement]) -> list[str]:
    found = []
    if num_sentences < FEW:
        found.append(
            f"{num_sentences} sentences are few: the intervals are rough, and no small difference can be shown."
        )
    if (
        "bleu" in measured and not measured["bleu"].statistics[:, -1].any()
    ):  # the last column counts the outputs' groups of four
        found.append(
            "BLEU counts groups of four words, and no output is that long: it is 0 whatever the model does. "
            "Look at exact match and the error rates."
        )
    if "ter" not in measured and "token_error_rate" in measured:  # a translation's
        found.append(f"TER is left out: it would take longer than {TER_SECONDS:.0f} s on outputs as long as these.")
    return found


def bucket_by_length(sources: Sequence[str], measured: dict[str, Measurement]) -> list[Bucket]:
    """The first two metrics by the words of the source; see `unit_of` for sources that have but one."""
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
    """What lengths are counted in: words; letters, where most sources are one word; characters of unspaced scripts."""
    if float(np.median([len(source.split()) for source in sources])) > 1:
        return "words"
    unspaced = sum(UNSPACED.search(source) is not None for source in sources)
    return "characters" if 2 * unspaced > len(sources) else "letters"


def find_worst(items: list[Item], outputs: Sequence[str], chrf: Measurement) -> list[Bad]:
    """The outputs of lowest sentence chrF, worst first; none that equals a reference."""
    scores = chrf.sentence_scores()
    order = [int(i) for i in np.argsort(scores, kind="stable") if outputs[i].strip() not in items[i].references]
    return [
        Bad(items[i].lines, float(scores[i]), items[i].source, outputs[i], items[i].references) for i in order[:WORST]
    ]
