"""Checks which models can form an ensemble: the same ids must mean the same text on both sides."""

from dataclasses import replace
from typing import Any

from seqloom.config import SHAPES, TASKS, Config
from seqloom.errors import UsageError
from seqloom.runtime.folder import RunFolder
from seqloom.text.tokenizer import Tokenizer


def check_members(runs: list[RunFolder]) -> None:
    """Raise a UsageError with folders, difference and advice if these models cannot form an ensemble."""
    for run in runs:
        task = TASKS[run.config.task.name]
        if not (shape := SHAPES[task.shape]).translates:
            raise UsageError(
                f"{run.path}: this model was trained for {run.config.task.name!r}; {shape.why_no_translation}. "
                f"This command needs a model that writes a text for a source. Use this one with `seqloom {task.verb}`."
            )
    first = runs[0]
    for other in runs[1:]:
        for side in ("source", "target"):
            here, there = getattr(first.tokenizers, side), getattr(other.tokenizers, side)
            if here.fingerprint != there.fingerprint:
                raise UsageError(
                    f"{first.path} and {other.path} cannot form an ensemble: their {side} vocabularies differ "
                    f"({describe(here)} against {describe(there)}). Train one with the tokenizer of the other: "
                    f"seqloom train PAIRS --out DIR --tokenizer {first.path}"
                )
        for name, here, there in settings_that_must_agree(first, other):
            if here and there and here != there:
                raise UsageError(
                    f"{first.path} and {other.path} cannot form an ensemble: {name} is {here!r} in one and "
                    f"{there!r} in the other. Use models that were trained for the same task."
                )


def describe(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.kind} of {len(tokenizer):,} tokens, {tokenizer.fingerprint[:8]}"


def settings_that_must_agree(first: RunFolder, other: RunFolder) -> list[tuple[str, str, str]]:
    """Settings that must be equal; with a joint vocabulary only the languages show the direction of translation."""
    names = ("source_lang", "target_lang", "normalise")
    return [
        ("task.name", first.config.task.name, other.config.task.name),
        *((f"data.{name}", said_of(first, name), said_of(other, name)) for name in names),
    ]


def shared_config(runs: list[RunFolder]) -> Config:
    """The first member's settings, with the smallest data.max_tokens of all members."""
    first = runs[0].config
    max_tokens = min(run.config.data.max_tokens for run in runs)
    return replace(first, data=replace(first.data, max_tokens=max_tokens))


def said_of(run: RunFolder, name: str) -> str:
    """Return a setting of data.*, or the value in run.json if the setting is empty."""
    return str(getattr(run.config.data, name) or getattr(run.facts, name, None) or "")


def shared_facts(runs: list[RunFolder]) -> dict[str, Any]:
    """The facts that are the same for all members, the sum of their parameters, and the smallest usual length."""
    first = runs[0].facts.to_json()
    alike = {name: fact for name, fact in first.items() if all(getattr(run.facts, name) == fact for run in runs)}
    sizes = [run.facts.params for run in runs]
    if None not in sizes:
        alike["params"] = sum(sizes)
    if usual := [run.facts.usual_tokens for run in runs if run.facts.usual_tokens]:
        alike["usual_tokens"] = min(usual)
    if seen := [run.facts.wordless for run in runs if run.facts.wordless is not None]:
        alike["wordless"] = min(seen)  # all members must know what to do with such a source
    if shares := [run.facts.capitals for run in runs if run.facts.capitals is not None]:
        alike["capitals"] = min(shares)
    return alike
