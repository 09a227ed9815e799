"""The model families: the shapes of answer that each can give and the settings it reads. Does not import torch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """The facts about a family that settings and checks need before a model is built."""

    shapes: tuple[str, ...]  # keys of config.tasks.SHAPES: it has a builder for each in models.build.BUILDERS
    settings: str  # whose settings it reads: rnn, transformer, or its own name
    one_sequence: bool = False  # reads source and target as one sequence, so it needs a joint vocabulary


FAMILIES: dict[str, Family] = {
    "rnn": Family(("writes", "restores", "labels", "tags", "fills", "continues"), settings="rnn"),
    "transformer": Family(("writes", "restores", "labels", "tags", "fills"), settings="transformer"),
    "gpt": Family(("writes", "continues"), settings="transformer", one_sequence=True),
    "bag": Family(("labels",), settings="bag"),
}


def families_of(shape: str) -> list[str]:
    """The families that can give answers of this shape."""
    return [name for name, family in FAMILIES.items() if shape in family.shapes]
