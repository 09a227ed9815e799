"""The ladder's report: gathers one document from the run folders, and writes the files made from it."""

import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
import torch
from msgspec import UNSET

from seqloom import __version__
from seqloom.config.recipes import find_recipe, first_line
from seqloom.errors import ModelError
from seqloom.evaluation.report import NO_FOUR_WORDS, bucket_by_length
from seqloom.explain.charts import can_draw
from seqloom.files.durable import replace_file
from seqloom.files.reading import LOG, parse_json, read_file
from seqloom.ladder.charts import draw_charts
from seqloom.ladder.document import (
    Document,
    Done,
    Failed,
    LengthBucket,
    Machine,
    Scores,
    SearchScores,
    Step,
    Waiting,
    to_text,
)
from seqloom.ladder.pages import to_html, to_markdown
from seqloom.ladder.papers import published_for
from seqloom.ladder.rungs import Rung, step_before
from seqloom.ladder.samples import gather_samples
from seqloom.ladder.scores import TestSet, choose_metric, differences
from seqloom.ladder.tables import YOUNG, make_blocks, title_of
from seqloom.metrics.measures import exact_match
from seqloom.runtime.engines import usable_cores
from seqloom.runtime.folder import read_config, read_facts
from seqloom.training.resume import flatten, precision_of

CPU_FACTS = Path("/proc/cpuinfo")  # on Linux only
FAR = 1 / 3  # a share of the machine that differs by more is unusual; cells and scores alone cause smaller differences


@dataclass(frozen=True)
class Ladder:
    """One call of `seqloom ladder`, as the user gave it."""

    out: Path
    rungs: list[Rung]
    pairs: str
    valid: str | None
    test: TestSet
    budget: float  # seconds per rung
    seed: int


def write_report(
    about: Ladder, scores: Mapping[str, Scores], failures: Mapping[str, str], tell: Callable[[str], None]
) -> Document:
    """Write report.json, report.md, report.html and the charts of the rungs done so far; return the document."""
    document = gather(about, scores, failures)
    pictures = draw_charts(document) if can_draw() else {}
    if not pictures and not can_draw():
        tell("the report has no charts: they need matplotlib, `pip install 'seqloom[plots]'`")
    title, blocks = title_of(document), make_blocks(document, list(pictures))
    files = {
        **pictures,
        "report.json": as_bytes(to_text(document)),
        "report.md": as_bytes(to_markdown(title, blocks)),
        "report.html": as_bytes(to_html(title, blocks, pictures)),
    }
    for name, content in files.items():
        replace_file(about.out / name, content)
    return document


def as_bytes(text: str) -> bytes:
    """Return UTF-8; a file name may hold bytes that are not UTF-8 (\\udce9), and a report must not fail on them."""
    return text.encode(errors="backslashreplace")


def gather(about: Ladder, scores: Mapping[str, Scores], failures: Mapping[str, str]) -> Document:
    """Return the whole content of the report."""
    rows = [describe_rung(about, rung, scores, failures) for rung in about.rungs]
    done = [row for row in rows if isinstance(row, Done)]
    metric = choose_metric(about.test)
    return Document(
        version=__version__, pairs=about.pairs, valid=about.valid, test=about.test.name, test_hash=about.test.hash,
        sentences=len(about.test.items), budget_seconds=about.budget, seed=about.seed,
        chosen_by_test=chosen_by_test(about), machine=find_machine(), rungs=rows, main_metric=metric,
        published=published_for(done[0].languages, metric) if done else [],
        samples=gather_samples(about.test.items, {row.name: scores[row.name] for row in done}),
        warnings=gather_warnings(done, scores, metric),
    )  # fmt: skip


def describe_rung(
    about: Ladder, rung: Rung, scores: Mapping[str, Scores], failures: Mapping[str, str]
) -> Done | Failed | Waiting:
    """Return the row of a rung."""
    summary = first_line(find_recipe(rung.recipe))[0]
    named: dict[str, Any] = {"name": rung.name, "family": rung.family, "recipe": rung.recipe, "summary": summary}
    if rung.name in failures:
        return Failed(**named, reason=failures[rung.name])
    if rung.name not in scores:
        return Waiting(**named)
    found, done = scores[rung.name], [other for other in about.rungs if other.name in scores]
    return Done(
        **named, **describe_run(about.out / rung.name),
        beam=for_report(found.beam, about.test), greedy=for_report(found.greedy, about.test),
        against=compare_with_before(about, rung, done, scores),
    )  # fmt: skip


def find_machine() -> Machine:
    """Describe the machine of this call: minutes mean little without it, and run folders do not record it."""
    return Machine(cpu=cpu_name(), cores=usable_cores(), torch=str(torch.__version__), python=platform.python_version())


def cpu_name() -> str:
    """Return the name of the processor, or its architecture: many ARM processors do not report a name."""
    try:
        lines = CPU_FACTS.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor(), platform.machine()]), "unknown")


def chosen_by_test(about: Ladder) -> bool:
    """Whether the validation data is the test set, even if the paths are written differently."""
    valid, test = ([Path(file).resolve() for file in name.split(",")] for name in (about.valid or "", about.test.name))
    return valid == test


def gather_warnings(done: Sequence[Done], scores: Mapping[str, Scores], metric: str = "bleu") -> dict[str, list[str]]:
    """Rung -> warnings about its numbers; rungs without warnings are left out."""
    beside = () if metric == "bleu" else (NO_FOUR_WORDS,)  # then the report does not show BLEU
    unequal = unequal_shares(done)
    found = {
        row.name: [
            *([YOUNG] if row.is_young else []),
            *(scores[row.name].beam.warnings or ()),
            *unequal.get(row.name, ()),
        ]
        for row in done
    }
    kept = {name: [text for text in texts if text not in beside] for name, texts in found.items()}
    return {name: texts for name, texts in kept.items() if texts}


def unequal_shares(done: Sequence[Done]) -> dict[str, list[str]]:
    """Rung -> a warning, if it used far less or more of the machine than is usual in its family.

    The budget is wall-clock time: other work on the machine slows down only the rung that is trained meanwhile.
    """
    families: dict[tuple[str, str], dict[str, float]] = {}  # by family and precision: each precision has its own peak
    for row in done:
        if row.mfu:
            families.setdefault((row.family, row.precision), {})[row.name] = row.mfu
    found = {}
    for (family, _), shares in families.items():
        usual = median(shares.values())
        for name, share in shares.items():
            if abs(share - usual) > FAR * usual:
                found[name] = [
                    f"it used {share:.1%} of the machine's peak (MFU); the median of its family ({family}) is "
                    f"{usual:.1%}. Other work on the machine probably took time from "
                    f"{'it' if share < usual else 'the others'}, so equal minutes were not equal work."
                ]
    return found


def describe_run(folder: Path) -> dict[str, Any]:
    """Return the fields of a row that describe the training: from run.json, config.toml and the log."""
    facts, config, events = read_facts(folder), read_config(folder), read_events(folder)
    updates = [event for event in events if event.get("event") == "train"]
    speeds = [event["tokens_per_second"] for event in updates]
    shares = [event["mfu"] for event in updates if event.get("mfu")]  # 0 = the machine's speed was not known
    curve = [
        (round(event["seconds"] / 60, 3), event["loss"])
        for event in events
        if event.get("event") == "valid"
        and isinstance(event["loss"], float)  # a loss that is not finite is written as a string
    ]
    return {
        "params": facts.params, "minutes": (facts.seconds or 0) / 60, "step": facts.step,
        "epoch": facts.epoch if facts.passes is None else facts.passes,  # older versions counted whole epochs
        "tokens_per_second": median(speeds or [(facts.tokens or 0) / (facts.seconds or 1)]),
        "valid_loss": facts.valid_loss if math.isfinite(facts.valid_loss or 0) else None,
        "weights": facts.weights, "threads": config.train.threads, "precision": precision_of(config),
        "tokenizer": config.text,
        "languages": [config.data.source_lang, config.data.target_lang], "curve": curve,
        "mfu": fmean(shares) if shares and fmean(shares) <= 1 else None,
    }  # fmt: skip


def read_events(folder: Path) -> list[dict[str, Any]]:
    """Read the log of a run; empty if the user has deleted it."""
    log = folder / "metrics.jsonl"
    try:
        return [parse_json(line) for line in read_file(log, LOG).splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{log}: cannot be read: {error}. Move it away to make the report without it.") from None


def for_report(found: SearchScores, test: TestSet) -> SearchScores:
    """Leave out what only scores.json keeps, and add exact match by length, the main metric for single words."""
    return msgspec.structs.replace(
        found, outputs=UNSET, worst=UNSET, against=UNSET, warnings=UNSET, by_length=exact_by_length(found, test)
    )


def exact_by_length(found: SearchScores, test: TestSet) -> list[LengthBucket]:
    """Return the scores by length, with exact match in addition to BLEU and chrF."""
    measured = {"exact_match": exact_match(found.outputs or [], test.references)}
    buckets = bucket_by_length([item.source for item in test.items], measured)
    return [
        msgspec.structs.replace(known, exact_match=bucket.scores["exact_match"])
        for known, bucket in zip(found.by_length, buckets, strict=True)
    ]


def compare_with_before(about: Ladder, rung: Rung, done: list[Rung], scores: Mapping[str, Scores]) -> Step | None:
    """Compare a rung with the step before it, if there is one."""
    before = step_before(rung, done)
    if before is None:
        return None
    found = differences(about.out / rung.name, scores[rung.name], before.name, scores[before.name], about.test)
    then, now = (flatten(read_config(about.out / name)) for name in (before.name, rung.name))
    changed = {name: [then[name], setting] for name, setting in now.items() if setting != then[name]}
    return Step(rung=before.name, differences=found, changed=changed)
