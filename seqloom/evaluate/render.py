"""A report for people to read; `Report.to_json` tells the same to programs."""

from seqloom.evaluate.metrics import LOWER_IS_BETTER, NAMES
from seqloom.evaluate.report import Bad, Bucket, Report, Rival
from seqloom.evaluate.searched import describe_search
from seqloom.evaluate.significance import Difference, Estimate

LONGEST_SHOWN = 300  # characters of a text


def render(report: Report) -> str:
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
        by = f" by {1 + others} models together" if others else ""
        head += f", translated{by} with {describe_search(report.about['search'])}, at {speed:,.1f} sentences/s"
    return head


def render_scores(scores: dict[str, Estimate], rival: Rival | None) -> str:
    rows = [["", "score", "95 % interval", *(rival_head(rival) if rival else [])]]
    for name, found in scores.items():
        better = "-" if name in LOWER_IS_BETTER else "+"
        row = [f"{NAMES[name]} ({better})", f"{found.score:.2f}", interval(found)]
        rows.append(row + (rival_cells(rival, name) if rival and name in rival.differences else []))
    notes = ["(+) higher is better, (-) lower is better" + ("; * significant at 0.05" if rival else "")]
    notes += [f"{NAMES[name]}: {found.signature}" for name, found in scores.items()]
    return table(rows) + "\n" + "\n".join(notes)


def rival_head(rival: Rival) -> list[str]:
    return [rival.name, "difference", "95 % interval", "p"]


def rival_cells(rival: Rival, name: str) -> list[str]:
    found = rival.differences[name]
    p_value = f"{found.p_value:.3f}{' *' if found.p_value < 0.05 else ''}"
    return [f"{rival.scores[name].score:.2f}", f"{found.difference:+.2f}", interval(found), p_value]


def render_baseline(rival: Rival) -> str:
    return table([["", *rival_head(rival)], *([NAMES[name], *rival_cells(rival, name)] for name in rival.differences)])


def render_diversity(diversity: dict[str, tuple[float, float]]) -> str:
    rows = [["different words of all", "outputs", "references"]]
    rows += [[name.replace("_", "-"), *(f"{share:.2f} %" for share in both)] for name, both in diversity.items()]
    return table(rows)


def render_lengths(buckets: list[Bucket]) -> str:
    rows = [[f"source {buckets[0].unit}", "sentences", *(NAMES[name] for name in buckets[0].scores)]]
    for bucket in buckets:
        span = f"{bucket.least}-{bucket.most}" if bucket.most else f"{bucket.least} or more"
        rows.append([span, f"{bucket.sentences:,}", *(f"{score:.2f}" for score in bucket.scores.values())])
    return table(rows)


def render_worst(worst: list[Bad]) -> str:
    lines = ["Farthest from their references (chrF):"]
    for bad in worst:
        places = ", ".join(map(str, bad.lines[:3])) + (", ..." if len(bad.lines) > 3 else "")
        lines.append(f"  line {places} ({bad.chrf:.1f})")
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
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(widths[i]) for i, cell in enumerate(row[1:], 1))]).rstrip()
        for row in rows
    )
