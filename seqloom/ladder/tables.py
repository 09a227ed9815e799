"""Turns the ladder's document (report.json) into the tables and sentences of its pages."""

import math
from collections.abc import Sequence

from seqloom.evaluation.render import describe_search
from seqloom.ladder.document import Document, Done, Failed, LengthBucket, Machine, Row, Waiting
from seqloom.ladder.pages import Block, Heading, Picture, Table, Text
from seqloom.ladder.papers import CAPTIONS, is_same_pair
from seqloom.ladder.samples import sample_blocks
from seqloom.metrics.measures import title_of as metric_title
from seqloom.metrics.significance import Estimate

SCORES_CHART, LENGTH_CHART, LOSS_CHART = "scores-by-rung.png", "scores-by-length.png", "loss-by-minutes.png"
SAYS = {
    SCORES_CHART: "score of each rung with its 95 % interval",
    LENGTH_CHART: "{metric} by source length: the best rung of each family",
    LOSS_CHART: "validation loss against minutes of training",
}
NONE = "-"
CHOSEN_BY_TEST = "The test set is also the validation data, which chooses the weights: all scores are too good."

YOUNG = (
    "less than one epoch of the training data was seen (column epochs below). Little can be expected yet: a difference "
    "shows who learns faster, not who becomes better. Give a larger --budget."
)


def done_rows(document: Document) -> list[Done]:
    return [row for row in document.rungs if isinstance(row, Done)]


def shown_metrics(document: Document) -> list[str]:
    return ["bleu", "chrf"] if document.main_metric == "bleu" else ["exact_match", "token_error_rate", "chrf"]


def title_of(document: Document) -> str:
    languages = [row.languages for row in done_rows(document)][:1]
    return "The ladder" + "".join(f", {source} -> {target}" for source, target in languages if source and target)


def make_blocks(document: Document, pictures: Sequence[str]) -> list[Block]:
    metric = metric_title(document.main_metric)
    blocks: list[Block] = [
        *introduce(document),
        Heading("What each step bought"),
        step_table(document),
        *legend(document),
    ]
    blocks += [Picture(file, SAYS[file].format(metric=metric)) for file in pictures]
    if done_rows(document):
        blocks += sample_blocks(document)
        blocks += [Heading(f"{metric} by source length"), length_table(document)]
        blocks += [Heading("What each rung cost"), Text(MFU), cost_table(document)]
    if (papers := papers_table(document)).rows:  # empty for the user's own rungs
        blocks += [Heading("The papers"), Text(PAPERS), papers]
    blocks += [Heading("The rungs, and what each changed in the step before it"), recipe_table(document)]
    return blocks


PAPERS = (
    "These numbers come from other training, metrics and tokenisation than those above, on the data named in each row: "
    "do not compare the levels. The direction of a step can be compared."
)
MFU = (
    "MFU is the share of the machine's speed at matrix products that the training used, on average. That speed is the "
    "best of several products of 2048 x 512 by 512 x 1024 numbers, measured at the start of each run with its threads "
    "and precision; it is not the maker's figure. A dash: not measured, or above 100 %, which happens when other work "
    "slowed the measurement. The budget is wall-clock time: a rung that shared the machine did less."
)


def introduce(document: Document) -> list[Block]:
    waiting = [row.name for row in document.rungs if isinstance(row, Waiting)]
    valid = f"validation {document.valid}" if document.valid else "validation held out from it"
    minutes = round(document.budget_seconds / 60, 2)
    lines = [
        f"Training data {document.pairs}, {valid}, test {document.test} ({document.sentences:,} sentences). "
        f"{minutes:g} minute{'s' * (minutes != 1)} per rung, seed {document.seed}"
        + "".join(describe_tokenizer(row) for row in done_rows(document)[:1])
        + f". Seqloom {document.version}."
    ]
    if document.chosen_by_test:
        lines.append(CHOSEN_BY_TEST)
    if waiting:
        lines.append(f"Not finished: {', '.join(waiting)} still to come.")
    return [Text(line) for line in lines]


def describe_tokenizer(row: Done) -> str:
    text = row.tokenizer
    kind = text.tokenizer if text.target_tokenizer == "same" else text.target_tokenizer
    own = "" if text.joint else f"; the target's: {kind}, {text.target_vocab_size:,}"
    threads = f"{row.threads} thread{'s' * (row.threads != 1)}"
    pieces = f"{text.tokenizer}, {text.vocab_size:,} tokens{own}"
    return f", {threads}, products in {row.precision}, one tokenizer for all ({pieces})"


def step_table(document: Document, papers: bool = True) -> Table:
    """The main table, one row per rung: its cost in short, its scores, and the gain of the step."""
    metrics, main = shown_metrics(document), document.main_metric
    head = ["rung", "parameters", "minutes", "target tokens/s", "valid. loss"]
    head += [*(f"{metric_title(name)} (95 %)" for name in metrics), f"step: {metric_title(main)}", "p"]
    young = {row.name for row in done_rows(document) if row.is_young}
    rows = []
    for row in document.rungs:
        if isinstance(row, Done):
            cells = [millions(row.params), f"{row.minutes:.1f}"]
            cells += [f"{row.tokens_per_second:,.0f}", number(row.valid_loss, ".3f")]
            cells += [with_interval(row.beam.estimate(name)) for name in metrics]
            rows.append([row.name, *cells, *step_cells(row, main, young)])
        elif isinstance(row, Failed):
            rows.append([row.name, *[NONE] * (len(head) - 3), f"failed: {row.reason}", NONE])
    texts = {0, len(head) - 2}
    if papers and any(published_beside(document, row[0]) for row in rows):
        texts.add(len(head))
        head.append("published")
        rows = [[*row, published_beside(document, row[0]) or NONE] for row in rows]
    return Table(head, rows, frozenset(texts))


def published_beside(document: Document, rung: str) -> str:
    """The published scores on the same languages, in a few words; the table of papers has the others too."""
    languages = next((row.languages for row in done_rows(document)), ["", ""])
    rows = [row for row in document.published if row.rung == rung and row.data != CAPTIONS]
    rows = [row for row in rows if is_same_pair(row, languages)]
    return "; ".join(f"{row.bleu:g}: {row.system} ({row.data})" for row in rows)


def step_cells(row: Done, main: str, young: set[str]) -> list[str]:
    """The difference and its p; the star of a rung that saw less than one epoch, or of its rival, is in brackets."""
    if row.against is None:
        return [NONE, NONE]
    found = row.against.differences[main]
    doubtful = found.significant and not young.isdisjoint({row.name, row.against.rung})
    p_value = f"{found.p_value:.3f} (*)" if doubtful else found.starred_p
    return [f"{found.difference:+.2f} against {row.against.rung}", p_value]


def legend(document: Document) -> list[Block]:
    done = done_rows(document)
    lines = [*searched(done)]
    lines.append("The step is measured on the same sentences (paired bootstrap); * is significant at 0.05.")
    if any(row.is_young for row in done):
        lines.append("(*) is significant on these sentences, but one of the two rungs saw less than one epoch.")
    lines += [
        f"{metric_title(name)}: {done[0].beam.estimate(name).signature}." for name in shown_metrics(document) if done
    ]
    lines.append(describe_machine(document.machine))
    return [Text(" ".join(lines)), *(Text(note) for note in notes(document))]


def searched(done: Sequence[Done]) -> list[str]:
    """The search options that were used, one sentence per combination: a user's recipe may have its own penalty."""
    rungs: dict[str, list[str]] = {}
    for row in done:
        rungs.setdefault(describe_search(row.beam.search), []).append(row.name)
    return [f"{options[0].upper()}{options[1:]}{named(names, done)}." for options, names in rungs.items()]


def notes(document: Document) -> list[str]:
    """Each warning once, with the names of its rungs."""
    rungs: dict[str, list[str]] = {}
    for name, warnings in document.warnings.items():
        for warning in warnings:
            rungs.setdefault(warning, []).append(name)
    return [f"Note{named(names, done_rows(document))}: {warning}" for warning, names in rungs.items()]


def young_notes(document: Document) -> list[str]:
    """One sentence for the terminal on the rungs that saw less than one epoch."""
    names = [f"{row.name} {row.epoch:.0%}" for row in done_rows(document) if row.is_young]
    if not names:
        return []
    return [
        f"Note: less than one epoch of the training data was seen ({', '.join(names)}). A difference shows who learns "
        "faster, not who becomes better: stars are in brackets. Give a larger --budget."
    ]


def named(names: Sequence[str], done: Sequence[Done]) -> str:
    """The names in brackets, to follow a word; empty if they are all rungs."""
    return "" if len(names) == len(done) else f" ({', '.join(names)})"


def describe_machine(machine: Machine) -> str:
    cores = f"{machine.cores} core{'s' * (machine.cores != 1)}"
    return f"Machine: {machine.cpu}, {cores}, torch {machine.torch}, Python {machine.python}."


def length_table(document: Document) -> Table:
    done = done_rows(document)
    buckets = done[0].beam.by_length
    head = ["rung", *(f"{span(bucket)} ({bucket.sentences:,})" for bucket in buckets)]
    main = document.main_metric
    rows = [[row.name, *(f"{bucket.score(main):.2f}" for bucket in row.beam.by_length)] for row in done]
    return Table([f"{buckets[0].unit} of the source (sentences)", *head[1:]], rows)


def span(bucket: LengthBucket) -> str:
    return f"{bucket.least}-{bucket.most}" if bucket.most else f"{bucket.least} or more"


def number(value: float | None, form: str) -> str:
    """A formatted number; a dash if it is unknown or was not finite."""
    return NONE if value is None else f"{value:{form}}"


def perplexity(row: Done) -> float | None:
    return None if row.valid_loss is None else math.exp(min(row.valid_loss, 50))


def cost_table(document: Document) -> Table:
    main = document.main_metric
    head = ["rung", "updates", "epochs", "MFU", "valid. perplexity", "weights", f"greedy {metric_title(main)} (95 %)"]
    head += ["sentences/s, beam 5", "sentences/s, greedy"]
    rows = [
        [
            row.name, f"{row.step:,}", f"{row.epoch:.3g}", number(row.mfu, ".1%"),
            number(perplexity(row), ",.2f"), row.weights, with_interval(row.greedy.estimate(main)),
            *(f"{searched.sentences_per_second:,.1f}" for searched in (row.beam, row.greedy)),
        ]
        for row in done_rows(document)
    ]  # fmt: skip
    return Table(head, rows, frozenset({0, 5}))


def papers_table(document: Document) -> Table:
    """Published results for the rungs of this ladder."""
    rungs = {row.name for row in document.rungs}
    rows = [
        [row.rung, row.system, f"{row.bleu:g}", row.metric, row.data, row.source]
        for row in document.published
        if row.rung in rungs
    ]
    return Table(["beside", "system", "score", "metric", "data", "source"], rows, frozenset({0, 1, 3, 4, 5}))


def recipe_table(document: Document) -> Table:
    rows = [[row.name, row.recipe, row.summary, changes(row)] for row in document.rungs]
    return Table(["rung", "recipe", "what it is", "what changed"], rows, frozenset({0, 1, 2, 3}))


def changes(row: Row) -> str:
    """The changed settings, one after the other: `model.cell: rnn -> lstm`."""
    if not isinstance(row, Done) or row.against is None:
        return NONE
    shown = [f"{name}: {old} -> {new}" for name, (old, new) in row.against.changed.items()]
    return f"from {row.against.rung}: " + ("; ".join(shown) or "nothing")


def millions(number: int) -> str:
    return f"{number / 1e6:.1f}M" if number >= 100_000 else f"{number:,}"


def with_interval(found: Estimate) -> str:
    return f"{found.score:.2f} ({found.low:.2f} .. {found.high:.2f})"
