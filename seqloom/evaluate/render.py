"""A report for people to read; `Report.to_json` tells the same to programs."""

from seqloom.evaluate.metrics import LOWER_IS_BETTER, NAMES
from seqloom.evaluate.report import Bad, Bucket, Report, Rival
from seqloom.evaluate.significance import Difference, Estimate

LONGEST_SHOWN = 300  # characters of a text


def render(report: Report) -> str:
    blocks = [render_head(report), render_scores(report.scores, report.against)]
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
        speed = report.about["sentences_per_second"]
        head += f", translated with beam {report.about['beam']} at {speed:,.1f} sentences/s"
    return head


def render_scores(scores: dict[str, Estimate], rival: Rival | None) -> str:
    rows = [["", "score", "95 % interval", *([rival.name, "difference", "95 % interval", "p"] if rival else [])]]
    for name, found in scores.items():
        better = "-" if name in LOWER_IS_BETTER else "+"
        row = [f"{NAMES[name]} ({better})", f"{found.score:.2f}", interval(found)]
        if rival and name in rival.differences:
            difference = rival.differences[name]
            row += [f"{rival.scores[name].score:.2f}", f"{difference.difference:+.2f}", interval(difference)]
            row.append(f"{difference.p_value:.3f}{' *' if difference.p_value < 0.05 else ''}")
        rows.append(row)
    notes = ["(+) higher is better, (-) lower is better" + ("; * significant at 0.05" if rival else "")]
    notes += [f"{NAMES[name]}: {found.signature}" for name, found in scores.items()]
    return table(rows) + "\n" + "\n".join(notes)


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
