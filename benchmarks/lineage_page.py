"""Ladders that were climbed in parts, on other days or machines, as one report: docs/lineage/NAME/.

    python benchmarks/lineage_page.py keep runs/lineage/multi30k docs/lineage/multi30k
    SEQLOOM_DATA=... python benchmarks/lineage_page.py write docs/lineage/multi30k \\
        multi30k/test2016.en.gz,multi30k/test2016.de.gz
    SEQLOOM_DATA=... python benchmarks/lineage_page.py compare docs/lineage/multi30k \\
        multi30k/test2016.en.gz,multi30k/test2016.de.gz transformer luong

`keep` copies what is known of each finished rung (its row of report.json, its settings, its translations, the machine;
no test data) into rungs/RUNG.json; `write` makes report.md and the charts of them, `compare` tells how far two
of them are apart. Rungs are compared anew, sentence by sentence, with the test set of SEQLOOM_DATA.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seqloom.config import load_config
from seqloom.evaluate.ladder_pages import Text, to_markdown
from seqloom.evaluate.ladder_papers import PUBLISHED
from seqloom.evaluate.ladder_tables import describe_machine, make_blocks, title_of
from seqloom.evaluate.significance import compare
from seqloom.runtime.folder import read_config
from seqloom.workflows.ladder_charts import draw_charts
from seqloom.workflows.ladder_report import unequal_shares
from seqloom.workflows.ladder_rungs import RUNGS, Rung, step_before
from seqloom.workflows.ladder_scores import measure_main, read_scores, read_test
from seqloom.workflows.resume import flatten

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
            "row": {**row, "against": None}, "outputs": read_scores(folder)["beam"]["outputs"],
        }  # fmt: skip
        (into / f"{row['name']}.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", "utf-8")
        print(into / f"{row['name']}.json")


def without_folders(value: Any) -> Any:
    """Files by their names alone: where they lay says nothing to others."""
    return ",".join(Path(part).name for part in value.split(",")) if isinstance(value, str) else value


def write(page: str, test: str) -> None:
    folder, files = Path(page), kept_rungs(page)
    rungs = [rung for rung in RUNGS if rung.name in files] + [
        Rung(name, name, name) for name in files if name not in {rung.name for rung in RUNGS}
    ]
    abouts = {json.dumps(kept["about"]) for kept in files.values()}
    if len(abouts) != 1:
        sys.exit(f"{folder}: the rungs are not of one ladder:\n" + "\n".join(sorted(abouts)))
    document = gather(rungs, files, test)
    pictures = draw_charts(document)
    blocks = make_blocks(document, list(pictures))
    machines: dict[str, list[str]] = {}
    for rung in rungs:
        machines.setdefault(describe_machine(files[rung.name]["machine"]), []).append(rung.name)
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
            sys.exit(f"{name}: no rung of {page}; there are {', '.join(files)}")
    measured = measure_rungs({name: files[name] for name in (rung, other)}, test)
    for metric, found in compare(measured[rung], measured[other]).items():
        print(f"{metric}: {found.difference:+.2f} ({found.low:.2f} .. {found.high:.2f}), p = {found.p_value:.3f}")


def kept_rungs(page: str) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((Path(page) / "rungs").glob("*.json"))}


def measure_rungs(files: dict[str, Any], test: str) -> dict[str, Any]:
    """What each rung wrote, measured against the test set it was written for."""
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA names no folder: rungs are compared with its test set")
    found = read_test(",".join(f"{data}/{part}" for part in test.split(",")), None, load_config(), False, print)
    if any(found.hash != kept["about"]["test_hash"] for kept in files.values()):
        sys.exit(f"{test} is not the test set of these rungs")
    return {name: measure_main(kept["outputs"], found, kept["row"]["languages"][1]) for name, kept in files.items()}


def gather(rungs: list[Rung], files: dict[str, Any], test: str) -> dict[str, Any]:
    """The document of a ladder's report, with every step measured again."""
    first, measured = files[rungs[0].name], measure_rungs(files, test)
    rows = []
    for rung in rungs:
        row, before = files[rung.name]["row"], step_before(rung, rungs)
        if before is not None:
            then, now = (files[name]["settings"] for name in (before.name, rung.name))
            row["against"] = {
                "rung": before.name,
                "differences": {k: asdict(v) for k, v in compare(measured[rung.name], measured[before.name]).items()},
                "changed": {k: [then[k], v] for k, v in now.items() if v != then[k]},
            }
        rows.append(row)
    warnings = {name: kept["warnings"] for name, kept in files.items() if kept["warnings"]}
    for name, texts in unequal_shares(rows).items():
        warnings[name] = [*(text for text in warnings.get(name, []) if "MFU" not in text), *texts]
    return {
        **first["about"], "machine": first["machine"], "rungs": rows, "warnings": warnings,
        "published": [asdict(row) for row in PUBLISHED],
    }  # fmt: skip


if __name__ == "__main__":
    main()
