"""Which charts the ladder's report has: scores by rung and by source length, loss by minutes."""

import math
from typing import Any

from seqloom.evaluate.ladder_tables import LENGTH_CHART, LOSS_CHART, SCORES_CHART, Row, done_rows, main_metric, span
from seqloom.evaluate.metrics import NAMES
from seqloom.explain.charts import Bar, Points, draw_bars, draw_lines

FEWEST = 10  # sentences of a length: fewer tell nothing


def draw_charts(document: dict[str, Any]) -> dict[str, bytes]:
    """PNG files by name; none while no rung is done."""
    done = done_rows(document)
    if not done:
        return {}
    metric = main_metric(document)
    charts = {SCORES_CHART: draw_bars([bar_of(row, metric) for row in done], f"{NAMES[metric]}, 95 % intervals")}
    buckets = done[0]["beam"]["by_length"]
    if (lines := length_lines(done, metric)) and len(buckets) > 1:
        ticks = [span(bucket) for bucket in buckets]
        charts[LENGTH_CHART] = draw_lines(lines, f"{buckets[0]['unit']} of the source", NAMES[metric], ticks)
    if curves := {row["name"]: row["curve"] for row in done if row["curve"]}:
        charts[LOSS_CHART] = draw_lines(curves, "minutes", "validation loss")
    return charts


def bar_of(row: Row, metric: str) -> Bar:
    found = row["beam"][metric]
    return Bar(row["name"], row["family"], found["score"], found["low"], found["high"])


def length_lines(done: list[Row], metric: str) -> dict[str, Points]:
    """The best rung of each family, by validation loss: a line each, without the lengths of very few sentences."""
    families: dict[str, list[Row]] = {}
    for row in done:
        families.setdefault(row["family"], []).append(row)
    best = [min(rows, key=loss_of) for rows in families.values()]
    lines = {f"{row['family']}: {row['name']}": length_points(row, metric) for row in best}
    return {name: points for name, points in lines.items() if points}


def loss_of(row: Row) -> float:
    """One that overflowed is the worst of all."""
    return math.inf if row["valid_loss"] is None else float(row["valid_loss"])


def length_points(row: Row, metric: str) -> Points:
    buckets = row["beam"]["by_length"]
    return [(place, bucket[metric]) for place, bucket in enumerate(buckets) if bucket["sentences"] >= FEWEST]
