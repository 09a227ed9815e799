"""Which charts the ladder's report has: scores by rung and by source length, loss by minutes."""

import math

from seqloom.explain.charts import COLOURS, Bar, Points, draw_bars, draw_lines
from seqloom.ladder.document import Document, Done
from seqloom.ladder.rungs import RUNGS
from seqloom.ladder.tables import LENGTH_CHART, LOSS_CHART, SCORES_CHART, done_rows, span
from seqloom.metrics.measures import title_of

# One colour per family, the same in every report, whichever rungs it has.
FAMILY_COLOURS = dict(zip(dict.fromkeys(rung.family for rung in RUNGS), COLOURS, strict=False))
FEWEST = 10  # sentences per length bucket; fewer mean nothing


def draw_charts(document: Document) -> dict[str, bytes]:
    """Return PNG files by name; none while no rung is done."""
    done = done_rows(document)
    if not done:
        return {}
    metric = document.main_metric
    title = f"{title_of(metric)}, 95 % intervals"
    charts = {SCORES_CHART: draw_bars([bar_of(row, metric) for row in done], title, FAMILY_COLOURS)}
    buckets = done[0].beam.by_length
    if (lines := length_lines(done, metric)) and len(buckets) > 1:
        ticks, unit = [span(bucket) for bucket in buckets], f"{buckets[0].unit} of the source"
        families = {name: name.partition(": ")[0] for name in lines}
        charts[LENGTH_CHART] = draw_lines(lines, unit, title_of(metric), ticks, families, FAMILY_COLOURS)
    if curves := {row.name: row.curve for row in done if row.curve}:
        families = {row.name: row.family for row in done}
        charts[LOSS_CHART] = draw_lines(curves, "minutes", "validation loss", (), families, FAMILY_COLOURS)
    return charts


def bar_of(row: Done, metric: str) -> Bar:
    found = row.beam.estimate(metric)
    return Bar(row.name, row.family, found.score, found.low, found.high)


def length_lines(done: list[Done], metric: str) -> dict[str, Points]:
    """Return one line per family: its best rung by validation loss; lengths with very few sentences are left out."""
    families: dict[str, list[Done]] = {}
    for row in done:
        families.setdefault(row.family, []).append(row)
    best = [min(rows, key=loss_of) for rows in families.values()]
    lines = {f"{row.family}: {row.name}": length_points(row, metric) for row in best}
    return {name: points for name, points in lines.items() if points}


def loss_of(row: Done) -> float:
    """Return the validation loss; infinity if it overflowed."""
    return math.inf if row.valid_loss is None else row.valid_loss


def length_points(row: Done, metric: str) -> Points:
    buckets = row.beam.by_length
    return [(place, bucket.score(metric)) for place, bucket in enumerate(buckets) if bucket.sentences >= FEWEST]
