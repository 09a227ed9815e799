"""The settings of a run: recipe, overrides, and what only the machine and the files can tell."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.config import Config, TextConfig, load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.text.sides import Tokenizers
from seqloom.workflows.choose import choose_recipe
from seqloom.workflows.recipes import find_recipe


def settle_config(
    folder: Path,
    specs: Sequence[CorpusSpec],
    recipe: str | Path | None,
    overrides: Sequence[str],
    budget: float | None,
    tokenizer: Path | None,
    tell: Callable[[str], None],
) -> Config:
    """The complete settings; a run that goes on without --recipe takes those in its folder as the recipe.

    A budget takes the place of the recipe's own limits; those given by hand hold beside it.
    """
    saved, given = folder / "config.toml", overrides
    if recipe is None and saved.is_file():
        file = saved
    elif recipe is None:
        about_data = [override for override in overrides if override.strip().startswith("data.")]
        choice = choose_recipe(specs, load_config(None, about_data).data)
        tell(f"recipe {choice.recipe}: {choice.reason}. Another one: --recipe (`seqloom recipes` lists them)")
        file, overrides = find_recipe(choice.recipe), [*choice.settings, *overrides]
    else:
        file = find_recipe(str(recipe))
    config = load_config(file, overrides)
    if tokenizer:
        config = replace(config, text=describe_tokenizer(tokenizer))
    source_lang, target_lang = specs[0].languages
    data = replace(
        config.data,
        source_lang=config.data.source_lang or source_lang,
        target_lang=config.data.target_lang or target_lang,
    )
    train = replace(config.train, threads=config.train.threads or count_cores())
    if budget:
        by_hand = {override.partition("=")[0].strip() for override in given}
        limits = {"max_steps": train.max_steps, "max_epochs": train.max_epochs}
        kept = {name: limit if f"train.{name}" in by_hand else 0 for name, limit in limits.items()}
        train = replace(train, max_steps=kept["max_steps"], max_epochs=kept["max_epochs"])
    return replace(config, data=data, train=train)


def describe_tokenizer(folder: Path) -> TextConfig:
    """The settings that a tokenizer taken from elsewhere stands for."""
    tokenizers = Tokenizers.load(folder)
    source, target = tokenizers.source, tokenizers.target
    if tokenizers.joint:
        return TextConfig(source.kind, len(source), joint=True)
    kind = "same" if source.kind == target.kind else target.kind
    return TextConfig(source.kind, len(source), joint=False, target_tokenizer=kind, target_vocab_size=len(target))


def count_cores() -> int:
    """The cores this process may use; a container often gives fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
