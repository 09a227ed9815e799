"""Training curves of one or several runs, read from their metrics.jsonl; also while a run still trains."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqloom.errors import ModelError, UsageError
from seqloom.explain.points import Curve
from seqloom.files.reading import LOG, parse_json, read_file

FILE = "metrics.jsonl"
TRAINING = {  # field of a training event -> name of the curve, unit
    "loss": ("loss", "nats per token"),
    "lr": ("learning rate", ""),
    "gradient_norm": ("gradient norm", ""),
    "clipped_share": ("share of clipped steps", ""),
    "tokens_per_second": ("tokens per second", "tokens/s"),
}
NO_FIGURES = {"step", "epoch", "seconds"}  # of a validation; its other numbers are the loss and the metrics of the task


def training_curves(runs: Sequence[Path]) -> list[Curve]:
    """The curves of these run folders, run after run; UsageError for a folder without a log."""
    return [curve for run in runs for curve in curves_of(run)]


def curves_of(run: Path) -> list[Curve]:
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for event in read_events(run):
        for (name, unit), value in figures_of(event).items():
            points.setdefault((name, unit), []).append((event["step"], value))
    return [Curve(run.name, *about, [step for step, _ in each], [y for _, y in each]) for about, each in points.items()]


def figures_of(event: dict[str, Any]) -> dict[tuple[str, str], float]:
    """The numbers of an event, by name and unit of their curve."""
    if not isinstance(event.get("step"), int):
        return {}
    numbers = {field: float(value) for field, value in event.items() if is_number(value)}
    if event.get("event") == "train":
        return {about: numbers[field] for field, about in TRAINING.items() if field in numbers}
    if event.get("event") != "valid":
        return {}
    units = {"loss": "nats per token"}
    return {(f"validation {field}", units.get(field, "")): numbers[field] for field in numbers.keys() - NO_FIGURES}


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def read_events(run: Path) -> list[dict[str, Any]]:
    """The events of a log; the last line may be torn while the run still writes it."""
    file = run / FILE
    try:
        lines = read_file(file, LOG).splitlines()
    except FileNotFoundError:
        what = "no such folder" if not run.is_dir() else f"it has no {FILE}, so there are no curves"
        raise UsageError(f"{run}: {what}; want the folder of a training run") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot read it ({error.strerror})") from None
    events = []
    for line in lines:
        try:
            event = parse_json(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events
