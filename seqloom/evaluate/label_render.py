"""The report on labels, tags or hidden words as a text for people."""

from seqloom.evaluate.label_report import LabelReport, LabelRow, Mistake
from seqloom.evaluate.render import clip, interval, table
from seqloom.evaluate.report import Rival
from seqloom.evaluate.significance import Estimate

NAMES = {
    "accuracy": "accuracy (+)",
    "whole_texts": "whole texts right (+)",
    "new_words": "words not seen in training (+)",
    "macro_f1": "macro F1 (+)",
    "loss": "loss (-)",
}
MOST_ROWS = 40


def render(report: LabelReport) -> str:
    blocks = [render_head(report), render_scores(report.scores, report.against)]
    if report.labels:
        blocks.append(render_labels(report.labels))
    if report.confusions:
        blocks.append(render_confusions(report.confusions))
    if report.mistakes:
        blocks.append(render_mistakes(report.mistakes))
    blocks += [f"Note: {warning}" for warning in report.warnings]
    return "\n\n".join(blocks)


def render_head(report: LabelReport) -> str:
    head = f"{report.texts:,} text{'s' * (report.texts != 1)}"
    if report.places != report.texts:
        head += f", {report.places:,} {'hidden words' if report.task == 'masked' else 'tags'}"
    if "texts_per_second" in report.about:
        head += f", read at {report.about['texts_per_second']:,.1f} texts/s"
    return head


def render_scores(scores: dict[str, Estimate], rival: Rival | None) -> str:
    rows = [["", "score", "95 % interval", *([rival.name, "difference", "95 % interval", "p"] if rival else [])]]
    for name, found in scores.items():
        row = [NAMES[name], f"{found.score:.2f}", interval(found)]
        if rival and name in rival.differences:
            difference = rival.differences[name]
            row += [f"{rival.scores[name].score:.2f}", f"{difference.difference:+.2f}", interval(difference)]
            row.append(f"{difference.p_value:.3f}{' *' if difference.p_value < 0.05 else ''}")
        rows.append(row)
    return table(rows) + ("\n* significant at 0.05" if rival else "")


def render_labels(labels: list[LabelRow]) -> str:
    rows = [["label", "wanted", "said", "precision", "recall", "F1"]]
    for row in labels[:MOST_ROWS]:
        scores = [f"{score:.2f}" for score in (row.precision, row.recall, row.f1)]
        rows.append([clip(row.label), f"{row.wanted:,}", f"{row.said:,}", *scores])
    more = len(labels) - MOST_ROWS
    return table(rows) + (f"\nand {more:,} rarer ones (--json tells all)" if more > 0 else "")


def render_confusions(confusions: dict[str, dict[str, int]]) -> str:
    rows = [["wanted \\ said", *confusions]]
    rows += [
        [wanted, *(f"{number:,}" if number else "." for number in said.values())] for wanted, said in confusions.items()
    ]
    return "Confused most:\n" + table(rows)


def render_mistakes(mistakes: list[Mistake]) -> str:
    lines = ["Wrong, and sure of it:"]
    for found in mistakes:
        lines.append(f"  line {found.line} ({found.probability:.0%}): {found.said}, want {found.wanted}")
        lines.append(f"    {clip(found.text)}")
    return "\n".join(lines)
