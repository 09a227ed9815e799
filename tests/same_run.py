"""Two run folders hold the same run: the same weights bit for bit, and the same log but for its times."""

import json
from pathlib import Path
from typing import Any

from seqloom.files.durable import hash_file
from seqloom.runtime.checkpoints import list_checkpoints

CLOCKED = {"seconds", "tokens_per_second", "mfu", "exchange_seconds"}  # what a log and run.json say of time


def assert_same_run(run: Path, whole: Path) -> None:
    """The same weights bit for bit, the same log but for its times, the same golden answers, no leftovers."""
    assert hash_file(run / "model.safetensors") == hash_file(whole / "model.safetensors")
    assert timeless_log(run) == timeless_log(whole)
    assert (run / "golden.json").read_bytes() == (whole / "golden.json").read_bytes()
    facts, wanted = (timeless(json.loads((folder / "run.json").read_text("utf-8"))) for folder in (run, whole))
    assert facts == wanted
    assert {path.name for path in run.iterdir()} == {path.name for path in whole.iterdir()}
    kept, wanted = (list_checkpoints(folder / "checkpoints") for folder in (run, whole))
    assert kept == wanted
    assert not [path.name for path in (run / "checkpoints").iterdir() if path.name.startswith(".")]


def timeless_log(run: Path) -> list[dict[str, Any]]:
    return [timeless(json.loads(line)) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]


def timeless(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in CLOCKED}
