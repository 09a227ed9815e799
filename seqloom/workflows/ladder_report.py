"""The ladder's report: one document gathered from the run folders, and the files made of it."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from seqloom import __version__
from seqloom.evaluate.ladder_pages import to_html, to_markdown
from seqloom.evaluate.ladder_papers import PUBLISHED
from seqloom.evaluate.ladder_tables import Row, done_rows, make_blocks, title_of
from seqloom.evaluate.metrics import exact_match
from seqloom.evaluate.report import bucket_by_length
from seqloom.explain.charts import can_draw
from seqloom.runtime.folder import read_config, read_facts
from seqloom.train.durable import replace_file
from seqloom.workflows.ladder_charts import draw_charts
from seqloom.workflows.ladder_machine import describe_machine
from seqloom.workflows.ladder_rungs import Rung, step_before
from seqloom.workflows.ladder_scores import SEARCHES, Scores, TestSet, differences
from seqloom.workflows.recipes import find_recipe, first_line
from seqloom.workflows.resume import flatten, precision_of

FORMAT = 2
NOT_FOR_THE_REPORT = ("outputs", "worst", "against", "warnings")  # they stay in the rung's scores.json
FAR = 1 / 3  # from the usual share of the machine; cells and scores alone make smaller differences too


@dataclass(frozen=True)
class Ladder:
    """What a ladder is asked to do."""

    out: Path
    rungs: list[Rung]
    pairs: str
    valid: str | None
    test: TestSet
    budget: float  # seconds a rung
    seed: int


def write_report(
    about: Ladder, scores: Mapping[str, Scores], failures: Mapping[str, str], tell: Callable[[str], None]
) -> dict[str, Any]:
    """report.json, report.md, report.html and the charts, of the rungs that are done so far; the document."""
    document = gather(about, scores, failures)
    pictures = draw_charts(document) if can_draw() else {}
    if not pictures and not can_draw():
        tell("the report has no charts: they need matplotlib, `pip install 'seqloom[plots]'`")
    title, blocks = title_of(document), make_blocks(document, list(pictures))
    files = {
        **pictures,
        "report.json": as_bytes(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)),
        "report.md": as_bytes(to_markdown(title, blocks)),
        "report.html": as_bytes(to_html(title, blocks, pictures)),
    }
    for name, content in files.items():
        replace_file(about.out / name, content)
    return document


def as_bytes(text: str) -> bytes:
    """UTF-8; the name of a file may be none (\\udce9 for a lone byte), and a report must not fail on it."""
    return text.encode(errors="backslashreplace")


def gather(about: Ladder, scores: Mapping[str, Scores], failures: Mapping[str, str]) -> dict[str, Any]:
    """All that the report says, as one JSON object."""
    done = [rung for rung in about.rungs if rung.name in scores]
    rows = []
    for rung in about.rungs:
        summary = first_line(find_recipe(rung.recipe))[0]
        row: dict[str, Any] = {"name": rung.name, "family": rung.family, "recipe": rung.recipe, "summary": summary}
        if rung.name in failures:
            row |= {"status": "failed", "reason": failures[rung.name]}
        elif rung.name in scores:
            row |= {"status": "done", **describe_run(about.out / rung.name)}
            row |= describe_scores(scores[rung.name], about.test)
            row["against"] = compare_with_before(about, rung, done, scores)
        rows.append({"status": "waiting", **row})
    document: dict[str, Any] = {
        "format": FORMAT, "version": __version__, "pairs": about.pairs, "valid": about.valid, "test": about.test.name,
        "test_hash": about.test.hash, "sentences": len(about.test.items), "budget_seconds": about.budget,
        "seed": about.seed, "chosen_by_test": chosen_by_test(about), "machine": describe_machine(), "rungs": rows,
        "published": [asdict(row) for row in PUBLISHED],
    }  # fmt: skip
    return {**document, "warnings": gather_warnings(done_rows(document), scores)}


def chosen_by_test(about: Ladder) -> bool:
    """Whether the validation data are the test set, however their files are spelled."""
    valid, test = ([Path(file).resolve() for file in name.split(",")] for name in (about.valid or "", about.test.name))
    return valid == test


def gather_warnings(done: Sequence[Row], scores: Mapping[str, Scores]) -> dict[str, list[str]]:
    """rung -> what to know of its numbers; a rung without any is not there."""
    main, unequal = next(iter(SEARCHES)), unequal_shares(done)
    found = {row["name"]: [*scores[row["name"]][main]["warnings"], *unequal.get(row["name"], ())] for row in done}
    return {name: texts for name, texts in found.items() if texts}


def unequal_shares(done: Sequence[Row]) -> dict[str, list[str]]:
    """rung -> a warning, where it had far less or more of the machine than is usual in its family.

    The budget is wall clock: what else runs on the machine takes from the rung at hand and from no other.
    """
    families: dict[tuple[str, str], dict[str, float]] = {}  # each precision has a peak of its own
    for row in done:
        if row["mfu"]:
            families.setdefault((row["family"], row["precision"]), {})[row["name"]] = row["mfu"]
    found = {}
    for (family, _), shares in families.items():
        usual = median(shares.values())
        for name, share in shares.items():
            if abs(share - usual) > FAR * usual:
                found[name] = [
                    f"it used {share:.1%} of the machine's peak (MFU), and the median of its family ({family}) is "
                    f"{usual:.1%}: other work on the machine probably took time from "
                    f"{'it' if share < usual else 'the others'}, and the same minutes were not the same work."
                ]
    return found


def describe_run(folder: Path) -> dict[str, Any]:
    """What training cost and reached, from run.json, config.toml and the log."""
    facts, config, events = read_facts(folder), read_config(folder), read_events(folder)
    updates = [event for event in events if event.get("event") == "train"]
    speeds = [event["tokens_per_second"] for event in updates]
    shares = [event["mfu"] for event in updates if event.get("mfu")]  # 0: the machine's speed was not known
    curve = [
        [round(event["seconds"] / 60, 3), event["loss"]]
        for event in events
        if event.get("event") == "valid" and isinstance(event["loss"], float)  # a loss that is no number is a word
    ]
    return {
        "params": facts["params"], "minutes": facts["seconds"] / 60, "step": facts["step"],
        "epoch": facts.get("passes", facts["epoch"]),  # runs of older versions counted whole ones
        "tokens_per_second": median(speeds or [facts["tokens"] / facts["seconds"]]),
        "valid_loss": facts["valid_loss"] if math.isfinite(facts["valid_loss"]) else None,
        "weights": facts["weights"], "threads": config.train.threads, "precision": precision_of(config),
        "tokenizer": asdict(config.text),
        "languages": [config.data.source_lang, config.data.target_lang], "curve": curve,
        "mfu": fmean(shares) if shares else None,
    }  # fmt: skip


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The log of a run; it may be deleted, as all that a model does not need."""
    log = folder / "metrics.jsonl"
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def describe_scores(scores: Scores, test: TestSet) -> dict[str, Any]:
    kept = {
        search: {name: value for name, value in scores[search].items() if name not in NOT_FOR_THE_REPORT}
        for search in SEARCHES
    }
    return {search: {**kept[search], "by_length": exact_by_length(scores[search], test)} for search in SEARCHES}


def exact_by_length(found: Scores, test: TestSet) -> list[Row]:
    """The scores by length with exact match beside BLEU and chrF: for single words that is what is shown."""
    measured = {"exact_match": exact_match(found["outputs"], test.references)}
    buckets = bucket_by_length([item.source for item in test.items], measured)
    return [{**known, **bucket.scores} for known, bucket in zip(found["by_length"], buckets, strict=True)]


def compare_with_before(
    about: Ladder, rung: Rung, done: list[Rung], scores: Mapping[str, Scores]
) -> dict[str, Any] | None:
    before = step_before(rung, done)
    if before is None:
        return None
    found = differences(about.out / rung.name, scores[rung.name], before.name, scores[before.name], about.test)
    then, now = (flatten(read_config(about.out / name)) for name in (before.name, rung.name))
    changed = {name: [then[name], setting] for name, setting in now.items() if setting != then[name]}
    return {"rung": before.name, "differences": found, "changed": changed}
