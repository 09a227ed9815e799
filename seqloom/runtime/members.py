"""Which models may answer together: the same ids must mean the same text on both sides."""

from dataclasses import replace
from typing import Any

from seqloom.config import Config
from seqloom.config.sections import ONLY_READ
from seqloom.errors import UsageError
from seqloom.runtime.folder import RunFolder
from seqloom.text.tokenizer import Tokenizer

NOT_TRANSLATORS = {  # tasks whose models turn no text into another, and the verb that asks them
    **dict.fromkeys(ONLY_READ, ("it writes no text of its own", "translate")),
    "language": ("it goes on with a text and reads no source", "generate"),
}


def check_members(runs: list[RunFolder]) -> None:
    """UsageError that names the folders, what differs and what to do."""
    for run in runs:
        if (task := run.config.task.name) in NOT_TRANSLATORS:
            why, verb = NOT_TRANSLATORS[task]
            raise UsageError(
                f"{run.path}: a model of the task {task}; {why}, which is wanted here. Ask it by `seqloom {verb}`."
            )
    first = runs[0]
    for other in runs[1:]:
        for side in ("source", "target"):
            here, there = getattr(first.tokenizers, side), getattr(other.tokenizers, side)
            if here.fingerprint != there.fingerprint:
                raise UsageError(
                    f"{first.path} and {other.path} cannot answer together: their {side} vocabularies differ "
                    f"({describe(here)} against {describe(there)}). Train one with the tokenizer of the other: "
                    f"seqloom train PAIRS --out DIR --tokenizer {first.path}"
                )
        for name, here, there in settings_that_must_agree(first, other):
            if here and there and here != there:
                raise UsageError(
                    f"{first.path} and {other.path} cannot answer together: {name} is {here!r} in the one and "
                    f"{there!r} in the other. Use models that were trained for the same task."
                )


def describe(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.kind} of {len(tokenizer):,} tokens, {tokenizer.fingerprint[:8]}"


def settings_that_must_agree(first: RunFolder, other: RunFolder) -> list[tuple[str, str, str]]:
    """A joint vocabulary serves both directions of a language pair: the languages tell them apart."""
    names = ("source_lang", "target_lang", "normalise")
    return [
        ("task.name", first.config.task.name, other.config.task.name),
        *(
            (f"data.{name}", *(getattr(run.config.data, name) or run.facts.get(name, "") for run in (first, other)))
            for name in names
        ),
    ]


def shared_config(runs: list[RunFolder]) -> Config:
    """The first member's settings; a source must not be longer than any member takes."""
    first = runs[0].config
    max_tokens = min(run.config.data.max_tokens for run in runs)
    return replace(first, data=replace(first.data, max_tokens=max_tokens))


def shared_facts(runs: list[RunFolder]) -> dict[str, Any]:
    """What all members say alike, the sum of their parameters, and the shortest text that is long for one of them."""
    first = runs[0].facts
    alike = {name: fact for name, fact in first.items() if all(run.facts.get(name) == fact for run in runs)}
    sizes = [run.facts.get("params") for run in runs]
    if None not in sizes:
        alike["params"] = sum(sizes)
    if usual := [run.facts["usual_tokens"] for run in runs if run.facts.get("usual_tokens")]:
        alike["usual_tokens"] = min(usual)
    return alike
