"""Combine the parts of a ladder, run on different days or machines, into one report: docs/lineage/NAME/.

    python benchmarks/lineage_page.py keep runs/lineage/multi30k docs/lineage/multi30k
    SEQLOOM_DATA=... python benchmarks/lineage_page.py write docs/lineage/multi30k \\
        multi30k/test2016.en.gz,multi30k/test2016.de.gz
    SEQLOOM_DATA=... python benchmarks/lineage_page.py compare docs/lineage/multi30k \\
        multi30k/test2016.en.gz,multi30k/test2016.de.gz transformer luong

`keep` copies the results of each finished rung into rungs/RUNG.json: its row of report.json, its settings, its
translations and the machine, but no test data. `write` makes report.md and the charts from them. `compare` prints the
difference between two rungs. Rungs are compared again, sentence by sentence, on the test set in SEQLOOM_DATA.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from seqloom.config import load_config
from seqloom.ladder.charts import draw_charts
from seqloom.ladder.document import Document, Done, Machine, Step
from seqloom.ladder.pages import Text, to_markdown
from seqloom.ladder.papers import published_for
from seqloom.ladder.report import unequal_shares
from seqloom.ladder.rungs import RUNGS, Rung, step_before
from seqloom.ladder.scores import TestSet, choose_metric, measure_main, read_scores, read_test
from seqloom.ladder.tables import describe_machine, make_blocks, title_of
from seqloom.metrics.significance import compare
from seqloom.runtime.folder import read_config
from seqloom.training.resume import flatten

SHARED = ("version", "pairs", "valid", "test", "test_hash", "sentences", "budget_seconds", "seed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for name, act, words in (
        ("keep", keep, ("ladder", "page")),
        ("write", write, ("page", "test")),
        ("compare", compare_two, ("page", "test", "rung", "other")),
    ):
        verb = verbs.add_parser(name)
        verb.set_defaults(act=act)
        for word in words:
            verb.add_argument(word)
    given = vars(parser.parse_args())
    given.pop("act")(**given)


def keep(ladder: str, page: str) -> None:
    report = json.loads((Path(ladder) / "report.json").read_text("utf-8"))
    into = Path(page) / "rungs"
    into.mkdir(parents=True, exist_ok=True)
    for row in report["rungs"]:
        if row["status"] != "done":
            continue
        folder = Path(ladder) / row["name"]
        kept = {
            "about": {name: without_folders(report[name]) for name in SHARED}, "machine": report["machine"],
            "warnings": report["warnings"].get(row["name"], []), "settings": flatten(read_config(folder)),
            "row": {**row, "against": None}, "outputs": outputs_of(folder),
        }  # fmt: skip
        (into / f"{row['name']}.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", "utf-8")
        print(into / f"{row['name']}.json")


def outputs_of(folder: Path) -> list[str]:
    scores = read_scores(folder)
    assert scores is not None, f"{folder} has no scores.json"
    return scores.beam.outputs or []


def without_folders(value: Any) -> Any:
    """Keep only the names of files: their folders mean nothing on other machines."""
    return ",".join(Path(part).name for part in value.split(",")) if isinstance(value, str) else value


def write(page: str, test: str) -> None:
    folder, files = Path(page), kept_rungs(page)
    rungs = [rung for rung in RUNGS if rung.name in files] + [
        Rung(name, name, name) for name in files if name not in {rung.name for rung in RUNGS}
    ]
    abouts = {json.dumps(kept["about"]) for kept in files.values()}
    if len(abouts) != 1:
        sys.exit(f"{folder}: the rungs belong to different ladders:\n" + "\n".join(sorted(abouts)))
    document = gather(rungs, files, test)
    pictures = draw_charts(document)
    blocks = make_blocks(document, list(pictures))
    machines: dict[str, list[str]] = {}
    for rung in rungs:
        machines.setdefault(describe_machine(msgspec.convert(files[rung.name]["machine"], Machine)), []).append(
            rung.name
        )
    if len(machines) > 1:
        told = (f"{', '.join(names)}: {machine}" for machine, names in machines.items())
        blocks[1:1] = [Text("Rungs ran on several machines. " + " ".join(told))]
    (folder / "report.md").write_text(to_markdown(title_of(document), blocks), "utf-8")
    for name, picture in pictures.items():
        (folder / name).write_bytes(picture)
    print(folder / "report.md")


def compare_two(page: str, test: str, rung: str, other: str) -> None:
    files = kept_rungs(page)
    for name in (rung, other):
        if name not in files:
            sys.exit(f"{name}: not a rung of {page}; its rungs are {', '.join(files)}")
    chosen = {name: files[name] for name in (rung, other)}
    measured = measure_rungs(chosen, read_test_of(chosen, test))
    for metric, found in compare(measured[rung], measured[other]).items():
        print(f"{metric}: {found.difference:+.2f} ({found.low:.2f} .. {found.high:.2f}), p = {found.p_value:.3f}")


def kept_rungs(page: str) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((Path(page) / "rungs").glob("*.json"))}


def read_test_of(files: dict[str, Any], test: str) -> TestSet:
    """Read the test set of the rungs from SEQLOOM_DATA."""
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA must name a folder: rungs are compared on its test set")
    found = read_test(",".join(f"{data}/{part}" for part in test.split(",")), None, load_config(), False, print)
    if any(found.hash != kept["about"]["test_hash"] for kept in files.values()):
        sys.exit(f"{test} is not the test set of these rungs")
    return found


def measure_rungs(files: dict[str, Any], test: TestSet) -> dict[str, Any]:
    """Measure the translations of each rung on the test set."""
    return {name: measure_main(kept["outputs"], test, kept["row"]["languages"][1]) for name, kept in files.items()}


def gather(rungs: list[Rung], files: dict[str, Any], test: str) -> Document:
    """The document of a ladder's report, with every step measured again."""
    first, sentences = files[rungs[0].name], read_test_of(files, test)
    measured, metric = measure_rungs(files, sentences), choose_metric(sentences)
    rows = []
    for rung in rungs:
        row, before = msgspec.convert(files[rung.name]["row"], Done), step_before(rung, rungs)
        if before is not None:
            then, now = (files[name]["settings"] for name in (before.name, rung.name))
            step = Step(
                rung=before.name,
                differences=compare(measured[rung.name], measured[before.name]),
                changed={k: [then[k], v] for k, v in now.items() if v != then[k]},
            )
            row = msgspec.structs.replace(row, against=step)
        rows.append(row)
    warnings = {name: kept["warnings"] for name, kept in files.items() if kept["warnings"]}
    for name, texts in unequal_shares(rows).items():
        warnings[name] = [*(text for text in warnings.get(name, []) if "MFU" not in text), *texts]
    return Document(
        **first["about"], machine=msgspec.convert(first["machine"], Machine), rungs=rows, warnings=warnings,
        published=published_for(rows[0].languages, metric), main_metric=metric,
    )  # fmt: skip


if __name__ == "__main__":
    main()
