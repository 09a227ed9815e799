"""From the ladder's document (report.json) to the tables and sentences of its pages."""

import math
from collections.abc import Sequence
from typing import Any

from seqloom.evaluate.ladder_pages import Block, Heading, Picture, Table, Text
from seqloom.evaluate.ladder_papers import CAPTIONS
from seqloom.evaluate.metrics import NAMES
from seqloom.evaluate.searched import describe_search

SCORES_CHART, LENGTH_CHART, LOSS_CHART = "scores-by-rung.png", "scores-by-length.png", "loss-by-minutes.png"
SAYS = {
    SCORES_CHART: "score of each rung with its 95 % interval",
    LENGTH_CHART: "{metric} by source length: the best rung of each family",
    LOSS_CHART: "validation loss against minutes of training",
}
NONE = "-"
SIGNIFICANT = 0.05
CHOSEN_BY_TEST = "The test set is the validation data too, by which weights are chosen: the scores flatter every rung."
Document = dict[str, Any]
Row = dict[str, Any]


def done_rows(document: Document) -> list[Row]:
    return [row for row in document["rungs"] if row["status"] == "done"]


def main_metric(document: Document) -> str:
    """BLEU; for single words, of which BLEU tells little, the share that is exactly right."""
    done = done_rows(document)
    return "exact_match" if done and done[0]["beam"]["by_length"][0]["unit"] == "letters" else "bleu"


def shown_metrics(document: Document) -> list[str]:
    return ["bleu", "chrf"] if main_metric(document) == "bleu" else ["exact_match", "token_error_rate", "bleu", "chrf"]


def title_of(document: Document) -> str:
    languages = [row["languages"] for row in done_rows(document)][:1]
    return "The ladder" + "".join(f", {source} -> {target}" for source, target in languages if source and target)


def make_blocks(document: Document, pictures: Sequence[str]) -> list[Block]:
    metric = NAMES[main_metric(document)]
    blocks: list[Block] = [
        *introduce(document),
        Heading("What each step bought"),
        step_table(document),
        *legend(document),
    ]
    blocks += [Picture(file, SAYS[file].format(metric=metric)) for file in pictures]
    if done_rows(document):
        blocks += [Heading(f"{metric} by source length"), length_table(document)]
        blocks += [Heading("What each rung cost"), Text(MFU), cost_table(document)]
    if (papers := papers_table(document)).rows:  # rungs of one's own stand beside none
        blocks += [Heading("The papers"), Text(PAPERS), papers]
    blocks += [Heading("The rungs, and what each changed in the step before it"), recipe_table(document)]
    return blocks


PAPERS = (
    "Each of these numbers comes from another training, metric and tokenisation than those above, on the data named in "
    "its row: the levels do not compare. What can be compared is the direction of a step."
)
MFU = (
    "MFU is how much of the machine's speed at matrix products the training used, on average. The budget is wall "
    "clock: a rung that shared the machine with other work has less of it."
)


def introduce(document: Document) -> list[Block]:
    waiting = [row["name"] for row in document["rungs"] if row["status"] == "waiting"]
    valid = f"validation {document['valid']}" if document["valid"] else "validation held out of it"
    lines = [
        f"Training data {document['pairs']}, {valid}, test {document['test']} ({document['sentences']:,} sentences). "
        f"{round(document['budget_seconds'] / 60, 2):g} minutes a rung, seed {document['seed']}"
        + "".join(describe_tokenizer(row) for row in done_rows(document)[:1])
        + f". Seqloom {document['version']}."
    ]
    if document.get("chosen_by_test"):
        lines.append(CHOSEN_BY_TEST)
    if waiting:
        lines.append(f"Not finished: {', '.join(waiting)} still to come.")
    return [Text(line) for line in lines]


def describe_tokenizer(row: Row) -> str:
    text = row["tokenizer"]
    kind = text["tokenizer"] if text["target_tokenizer"] == "same" else text["target_tokenizer"]
    own = "" if text["joint"] else f"; the target's: {kind}, {text['target_vocab_size']:,}"
    threads = f"{row['threads']} thread{'s' * (row['threads'] != 1)}"
    pieces = f"{text['tokenizer']}, {text['vocab_size']:,} tokens{own}"
    return f", {threads}, products in {row['precision']}, one tokenizer for all ({pieces})"


def step_table(document: Document) -> Table:
    """The main table: a rung a row, with what it cost in short, what it reached and what the step was worth."""
    metrics, main = shown_metrics(document), main_metric(document)
    head = ["rung", "parameters", "minutes", "target tokens/s", "valid. loss"]
    head += [*(f"{NAMES[name]} (95 %)" for name in metrics), f"step: {NAMES[main]}", "p", "published"]
    rows = []
    for row in document["rungs"]:
        published = published_beside(document, row["name"]) or NONE
        if row["status"] == "done":
            cells = [millions(row["params"]), f"{row['minutes']:.1f}"]
            cells += [f"{row['tokens_per_second']:,.0f}", number(row["valid_loss"], ".3f")]
            cells += [with_interval(row["beam"][name]) for name in metrics]
            rows.append([row["name"], *cells, *step_cells(row, main), published])
        elif row["status"] == "failed":
            rows.append([row["name"], *[NONE] * (len(head) - 4), f"failed: {row['reason']}", NONE, published])
    return Table(head, rows, frozenset({0, len(head) - 3, len(head) - 1}))


def published_beside(document: Document, rung: str) -> str:
    """The papers' scores that stand beside this rung, in a few words; the notebooks' are in the table alone."""
    rows = [row for row in document["published"] if row["rung"] == rung and row["data"] != CAPTIONS]
    return "; ".join(f"{row['bleu']:g}: {row['system']} ({row['data']})" for row in rows)


def step_cells(row: Row, main: str) -> list[str]:
    if row["against"] is None:
        return [NONE, NONE]
    found = row["against"]["differences"][main]
    star = " *" if found["p_value"] < SIGNIFICANT else ""
    return [f"{found['difference']:+.2f} against {row['against']['rung']}", f"{found['p_value']:.3f}{star}"]


def legend(document: Document) -> list[Block]:
    done = done_rows(document)
    lines = [*searched(done)]
    lines.append("The step is measured on the same sentences (paired bootstrap); * is significant at 0.05.")
    lines += [f"{NAMES[name]}: {done[0]['beam'][name]['signature']}." for name in shown_metrics(document) if done]
    lines.append(describe_machine(document["machine"]))
    return [Text(" ".join(lines)), *(Text(note) for note in notes(document))]


def searched(done: Sequence[Row]) -> list[str]:
    """The options that held, a sentence for each choice of them: recipes of one's own may have their own penalty."""
    rungs: dict[str, list[str]] = {}
    for row in done:
        rungs.setdefault(describe_search(row["beam"]["search"]), []).append(row["name"])
    return [f"{options[0].upper()}{options[1:]}{named(names, done)}." for options, names in rungs.items()]


def notes(document: Document) -> list[str]:
    """Each warning once, with the rungs it is about."""
    rungs: dict[str, list[str]] = {}
    for name, warnings in document["warnings"].items():
        for warning in warnings:
            rungs.setdefault(warning, []).append(name)
    return [f"Note{named(names, done_rows(document))}: {warning}" for warning, names in rungs.items()]


def named(names: Sequence[str], done: Sequence[Row]) -> str:
    """In brackets, to stand behind a word; nothing where it is all of them."""
    return "" if len(names) == len(done) else f" ({', '.join(names)})"


def describe_machine(machine: Row) -> str:
    cores = f"{machine['cores']} core{'s' * (machine['cores'] != 1)}"
    return f"Machine: {machine['cpu']}, {cores}, torch {machine['torch']}, Python {machine['python']}."


def length_table(document: Document) -> Table:
    done = done_rows(document)
    buckets = done[0]["beam"]["by_length"]
    head = ["rung", *(f"{span(bucket)} ({bucket['sentences']:,})" for bucket in buckets)]
    main = main_metric(document)
    rows = [[row["name"], *(f"{bucket[main]:.2f}" for bucket in row["beam"]["by_length"])] for row in done]
    return Table([f"{buckets[0]['unit']} of the source (sentences)", *head[1:]], rows)


def span(bucket: Row) -> str:
    return f"{bucket['least']}-{bucket['most']}" if bucket["most"] else f"{bucket['least']} or more"


def number(value: float | None, form: str) -> str:
    """A number that is not known, or was not finite, is a dash."""
    return NONE if value is None else f"{value:{form}}"


def perplexity(row: Row) -> float | None:
    return None if row["valid_loss"] is None else math.exp(min(row["valid_loss"], 50))


def cost_table(document: Document) -> Table:
    main = main_metric(document)
    head = ["rung", "updates", "epochs", "MFU", "valid. perplexity", "weights", f"greedy {NAMES[main]} (95 %)"]
    head += ["sentences/s, beam 5", "sentences/s, greedy"]
    rows = [
        [
            row["name"], f"{row['step']:,}", f"{row['epoch']:.3g}", number(row["mfu"], ".1%"),
            number(perplexity(row), ",.2f"), row["weights"], with_interval(row["greedy"][main]),
            *(f"{row[search]['sentences_per_second']:,.1f}" for search in ("beam", "greedy")),
        ]
        for row in done_rows(document)
    ]  # fmt: skip
    return Table(head, rows, frozenset({0, 5}))


def papers_table(document: Document) -> Table:
    """What was published beside the rungs of this ladder."""
    rungs = {row["name"] for row in document["rungs"]}
    rows = [
        [row["rung"], row["system"], f"{row['bleu']:g}", row["metric"], row["data"], row["source"]]
        for row in document["published"]
        if row["rung"] in rungs
    ]
    return Table(["beside", "system", "score", "metric", "data", "source"], rows, frozenset({0, 1, 3, 4, 5}))


def recipe_table(document: Document) -> Table:
    rows = [[row["name"], row["recipe"], row["summary"], changes(row)] for row in document["rungs"]]
    return Table(["rung", "recipe", "what it is", "what changed"], rows, frozenset({0, 1, 2, 3}))


def changes(row: Row) -> str:
    """`model.cell: rnn -> lstm`, one setting after the other."""
    if not row.get("against"):
        return NONE
    told = [f"{name}: {old} -> {new}" for name, (old, new) in row["against"]["changed"].items()]
    return f"from {row['against']['rung']}: " + ("; ".join(told) or "nothing")


def millions(number: int) -> str:
    return f"{number / 1e6:.1f}M" if number >= 100_000 else f"{number:,}"


def with_interval(found: Row) -> str:
    return f"{found['score']:.2f} ({found['low']:.2f} .. {found['high']:.2f})"
