"""What each rung wrote for a few test sentences, the rungs below each other: what a class wants to see."""

from collections.abc import Mapping, Sequence

from seqloom.ladder.document import Document, Sample, Scores
from seqloom.ladder.pages import Block, Heading, Table, Text
from seqloom.metrics.testset import Item

NUM_SAMPLES = 5
HOW_CHOSEN = (
    "Test sentences from short to long, chosen by the length of their source alone; beam 5. = marks an output that "
    "equals a reference."
)


def gather_samples(items: Sequence[Item], scores: Mapping[str, Scores]) -> list[Sample]:
    """The same sentences for any rungs, with the output of each rung."""
    return [
        Sample(
            line=items[place].lines[0],
            source=items[place].source,
            references=list(items[place].references),
            outputs={name: found.beam.outputs[place] for name, found in scores.items() if found.beam.outputs},
        )
        for place in spread_by_length(items)
    ]


def spread_by_length(items: Sequence[Item]) -> list[int]:
    """The places of items in the middle of equal shares of the test set, ordered by source length."""
    order = sorted(range(len(items)), key=lambda place: len(items[place].source))
    count = min(NUM_SAMPLES, len(order))
    return [order[(2 * number + 1) * len(order) // (2 * count)] for number in range(count)]


def sample_blocks(document: Document) -> list[Block]:
    """A heading and one table per sentence; nothing while no rung is done."""
    if not any(sample.outputs for sample in document.samples):
        return []
    tables = [sample_table(sample) for sample in document.samples]
    return [Heading("What each rung wrote"), Text(HOW_CHOSEN), *tables]


def sample_table(sample: Sample) -> Table:
    rows = [["reference", reference] for reference in sample.references]
    right = {reference.strip() for reference in sample.references}
    rows += [[name, f"{'= ' * (text.strip() in right)}{text}"] for name, text in sample.outputs.items()]
    return Table([f"test line {sample.line}", sample.source], rows, frozenset({0, 1}))
