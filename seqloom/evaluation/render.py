"""Renders an evaluation report as text; `Report.to_json` has the same content for programs."""

from collections.abc import Mapping
from typing import Any

from seqloom.evaluation.report import Bad, Bucket, Report, Rival
from seqloom.metrics.measures import METRICS, title_of
from seqloom.metrics.significance import Difference, Estimate

LONGEST_SHOWN = 300  # characters of a text


def render(report: Report) -> str:
    """The whole report as text."""
    blocks = [render_head(report), render_scores(report.scores, report.against)]
    if report.baseline:
        blocks.append(render_baseline(report.baseline))
    if report.diversity:
        blocks.append(render_diversity(report.diversity))
    if len(report.by_length) > 1:
        blocks.append(render_lengths(report.by_length))
    if report.worst:
        blocks.append(render_worst(report.worst))
    blocks += [f"Note: {warning}" for warning in report.warnings]
    return "\n\n".join(blocks)


def render_head(report: Report) -> str:
    head = f"{report.sentences:,} sentence{'s' * (report.sentences != 1)}"
    if report.lines > report.sentences:
        head += f" from {report.lines:,} lines (lines of the same source are its references)"
    if "sentences_per_second" in report.about:
        speed, others = report.about["sentences_per_second"], len(report.about.get("with", ()))
        by = f" by an ensemble of {1 + others} models" if others else ""
        head += f", translated{by} with {describe_search(report.about['search'])}, at {speed:,.1f} sentences/s"
    elif "outputs_of" in report.about:
        head += f", outputs of {report.about['outputs_of']}"
    return head


def render_scores(scores: dict[str, Estimate], rival: Rival | None) -> str:
    rows = [["", "score", "95 % interval", *(rival_head(rival) if rival else [])]]
    for name, found in scores.items():
        better = "-" if METRICS[name].lower_is_better else "+"
        row = [f"{title_of(name)} ({better})", f"{found.score:.2f}", interval(found)]
        rows.append(row + (rival_cells(rival, name) if rival and name in rival.differences else []))
    notes = ["(+) higher is better, (-) lower is better" + ("; * significant at 0.05" if rival else "")]
    notes += [f"{title_of(name)}: {found.signature}" for name, found in scores.items()]
    return table(rows) + "\n" + "\n".join(notes)


def rival_head(rival: Rival) -> list[str]:
    return [rival.name, "difference", "95 % interval", "p"]


def rival_cells(rival: Rival, name: str) -> list[str]:
    found = rival.differences[name]
    return [f"{rival.scores[name].score:.2f}", f"{found.difference:+.2f}", interval(found), found.starred_p]


def render_baseline(rival: Rival) -> str:
    return table(
        [["", *rival_head(rival)], *([title_of(name), *rival_cells(rival, name)] for name in rival.differences)]
    )


def render_diversity(diversity: dict[str, tuple[float, float]]) -> str:
    rows = [["share of different n-grams", "outputs", "references"]]
    rows += [[name.replace("_", "-"), *(f"{share:.2f} %" for share in both)] for name, both in diversity.items()]
    return table(rows)


def render_lengths(buckets: list[Bucket]) -> str:
    rows = [[f"source {buckets[0].unit}", "sentences", *(title_of(name) for name in buckets[0].scores)]]
    for bucket in buckets:
        span = f"{bucket.least}-{bucket.most}" if bucket.most else f"{bucket.least} or more"
        rows.append([span, f"{bucket.sentences:,}", *(f"{score:.2f}" for score in bucket.scores.values())])
    return table(rows)


def render_worst(worst: list[Bad]) -> str:
    lines = ["Outputs with the lowest chrF:"]
    for bad in worst:
        numbers = ", ".join(map(str, bad.lines[:3])) + (", ..." if len(bad.lines) > 3 else "")
        lines.append(f"  line {numbers} ({bad.chrf:.1f})")
        known = [("reference", reference) for reference in bad.references[:2]]
        lines += [
            f"    {name:<9} {clip(text)}" for name, text in [("source", bad.source), ("output", bad.output), *known]
        ]
    return "\n".join(lines)


def clip(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + " ..."


def interval(found: Estimate | Difference) -> str:
    return f"{found.low:.2f} .. {found.high:.2f}"


def table(rows: list[list[str]]) -> str:
    """Rows as aligned text: the first column flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(widths[i]) for i, cell in enumerate(row[1:], 1))]).rstrip()
        for row in rows
    )


SEARCH_RULES = {  # beside the beam; each is off at 0
    "coverage_penalty": "coverage penalty {:g}",
    "min_length": "at least {} tokens",
    "no_repeat_ngram": "no {} tokens in a row twice",
    "mbr": "the choice of {} by minimum Bayes risk",
}


def describe_search(search: Mapping[str, Any]) -> str:
    """`beam 5, length penalty 1.2`, and every rule that was on."""
    told = [f"beam {search['beam']}", f"length penalty {search['length_penalty']:g}"]
    return ", ".join(told + [words.format(search[name]) for name, words in SEARCH_RULES.items() if search.get(name)])
