"""The settings of a run: recipe, overrides, and what only the machine and the files can tell."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom.config import TASKS, Config, TaskConfig, TextConfig, apply_override, idle_overrides, load_config, read_toml
from seqloom.config.rules import check_together
from seqloom.config.tables import TOKENIZERS
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import UsageError
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.engines import usable_cores
from seqloom.runtime.folder import read_config
from seqloom.text.sides import Tokenizers
from seqloom.train.precision import choose_precision
from seqloom.workflows.choose import choose_recipe
from seqloom.workflows.recipes import find_recipe
from seqloom.workflows.resume import precision_of


def early_settings(folder: Path, recipe: str | Path | None, overrides: Sequence[str]) -> dict[str, Any]:
    """What the settings will say, before any data is read and unchecked: `settle_config` tells what is wrong."""
    file = find_recipe(str(recipe)) if recipe else saved_settings(folder)
    table = read_toml(file) if file else {}
    for override in overrides:
        apply_override(table, override, [])
    return table


def saved_settings(folder: Path) -> Path | None:
    """Those of a run that has begun; of one that was refused before, nothing holds."""
    return folder / "config.toml" if (folder / "run.json").is_file() else None


def find_task(folder: Path, recipe: str | Path | None, overrides: Sequence[str]) -> str:
    """The task, on which the form of the data depends."""
    section = early_settings(folder, recipe, overrides).get("task", {})
    name = section.get("name") if isinstance(section, dict) else None
    return name if name in TASKS else TaskConfig().name


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
    given, file = overrides, find_recipe(str(recipe)) if recipe else saved_settings(folder)
    if file is None:
        about_data = [
            override
            for override in overrides
            if override.strip().startswith("data.") and "reverse_source" not in override  # which asks for an rnn
        ]
        begun = any(override.strip().startswith("train.init=") for override in overrides)
        choice = choose_recipe(find_task(folder, None, overrides), specs, load_config(None, about_data).data, begun)
        tell(f"recipe {choice.recipe}: {choice.reason}. Another one: --recipe (`seqloom recipes` lists them)")
        file, overrides = find_recipe(choice.recipe), [*choice.settings, *overrides]
    config = load_config(file, overrides)
    refuse_idle(config, given)
    origin = config.train.init or tokenizer  # that of --init is copied into the run's folder, and taken from there
    if tokenizer:
        config = replace(config, text=describe_tokenizer(tokenizer))
    if origin:
        refuse_text_settings(given, origin)
        for fault in check_together(config):
            raise UsageError(f"the tokenizer of {origin} does not fit: {fault}")
    source_lang, target_lang = specs[0].languages
    data = replace(
        config.data,
        source_lang=config.data.source_lang or source_lang,
        target_lang=config.data.target_lang or target_lang,
    )
    train = replace(
        config.train, threads=config.train.threads or usable_cores(), precision=settle_precision(folder, config)
    )
    if budget:
        by_hand = {override.partition("=")[0].strip() for override in given}
        limits = {"max_steps": train.max_steps, "max_epochs": train.max_epochs}
        kept = {name: limit if f"train.{name}" in by_hand else 0 for name, limit in limits.items()}
        train = replace(train, max_steps=kept["max_steps"], max_epochs=kept["max_epochs"])
    return replace(config, data=data, train=train)


def settle_precision(folder: Path, config: Config) -> str:
    """`auto` is what the run in this folder has begun with, wherever it goes on; for a new one, what is fast here."""
    if config.train.precision == "auto" and saved_settings(folder):
        return precision_of(read_config(folder))
    return choose_precision(config.train.precision, find_device(config.train.device), config.model.width)


def refuse_text_settings(overrides: Sequence[str], origin: Path | str) -> None:
    """What is asked of a tokenizer that is not learned here would be passed over."""
    if asked := [override.strip() for override in overrides if is_of_text(override)]:
        raise UsageError(
            f"--set {asked[0]}: the tokenizer is that of {origin}, not one to be learned; leave the setting out, "
            "or learn one here, without --tokenizer and --init"
        )


def is_of_text(override: str) -> bool:
    return override.strip().startswith("text.")


def refuse_idle(config: Config, given: Sequence[str]) -> None:
    """A setting that was given by hand and is of another family or task would do nothing, and nobody would know."""
    for override, reason in idle_overrides(config, given).items():
        raise UsageError(f"--set {override}: {override.partition('=')[0].strip()} is {reason}. Leave it out.")


def describe_tokenizer(folder: Path) -> TextConfig:
    """The settings that a tokenizer taken from elsewhere stands for."""
    tokenizers = Tokenizers.load(folder)
    source, target = tokenizers.source, tokenizers.target
    kinds = [side.kind if side.kind in TOKENIZERS else "foreign" for side in (source, target)]
    if tokenizers.joint:
        return TextConfig(kinds[0], len(source), joint=True)
    kind = "same" if source.kind == target.kind else kinds[1]
    return TextConfig(kinds[0], len(source), joint=False, target_tokenizer=kind, target_vocab_size=len(target))
