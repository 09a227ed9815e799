"""Resolve the settings of a run, once and before any data is read: recipe, overrides, --init, files and machine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seqloom.config import (
    TASKS,
    Config,
    DataConfig,
    TaskConfig,
    TextConfig,
    TrainConfig,
    apply_override,
    idle_overrides,
    load_config,
    read_toml,
)
from seqloom.config.recipes import find_recipe
from seqloom.config.rules import check_together
from seqloom.config.tables import TOKENIZERS
from seqloom.data.corpus import CorpusSpec
from seqloom.data.given import Given
from seqloom.errors import UsageError
from seqloom.models.build import check_model
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.folder import read_config
from seqloom.text.sides import Tokenizers
from seqloom.training.choose_recipe import FASTER, choose_recipe
from seqloom.training.data import gather_corpora, open_pairs
from seqloom.training.init_from import Beginning, check_beginning, check_fit
from seqloom.training.precision import choose_precision
from seqloom.training.request import Settled, TrainRequest
from seqloom.training.resume import check_same_settings, precision_of
from seqloom.training.run_end import check_end, finished_facts
from seqloom.training.world import default_threads, read_world


@dataclass(frozen=True)
class Preview:
    """The few settings that decide how the others are found; `settle_config` checks them with all the rest."""

    file: Path | None  # the recipe, or the settings that a started run saved; None: a recipe is yet to be chosen
    task: str  # decides how the files are read
    init: str  # an earlier model, which brings settings of its own
    max_tokens: int


def settle(request: TrainRequest) -> Settled:
    """Resolve everything that can be known before the data is read, and refuse what cannot work."""
    preview = look_ahead(request)
    form = TASKS[preview.task].form
    specs = gather_corpora(request, form)
    valid_specs = [open_valid(request, form)] if request.valid else []
    beginning = Beginning.of(request, preview.init, preview.max_tokens) if preview.init else None
    if beginning:
        overrides = (*beginning.settings(preview.task), *request.overrides, beginning.as_setting)
        tokenizer = beginning.take_tokenizers(preview.task, request.tokenizer)
        request = replace(request, overrides=overrides, tokenizer=tokenizer)
    config = settle_config(request, specs, preview)
    if beginning and beginning.started:
        config = replace(config, text=read_config(request.out).text)  # its tokenizer is the one it took at its start
    if request.started:
        check_same_settings(request.out, config)
    if not finished_facts(request.out, config, request.budget):
        check_end(config, request.budget)
        check_beginning(config)
        check_model(config)
        if beginning and not beginning.started:
            check_fit(config, beginning.origin, Tokenizers.load(request.tokenizer or request.out))
    return Settled(request, config, tuple(specs), tuple(valid_specs), request.tokenizer)


def open_valid(request: TrainRequest, form: str) -> CorpusSpec:
    """Find the validation pairs; standard input is left to `gather_data`, which refuses it."""
    if isinstance(request.valid, Given):
        return open_pairs(request, request.valid, form, "given-valid")
    return CorpusSpec.parse(request.valid or "", request.columns, form=form)


def look_ahead(request: TrainRequest) -> Preview:
    """Read recipe (or saved settings) and overrides for the few settings that decide how the others are found."""
    file = find_recipe(request.recipe) if request.recipe else saved_settings(request)
    table = read_toml(file) if file else {}
    for override in request.overrides:
        apply_override(table, override, [])

    def find(section: str, name: str) -> Any:
        settings = table.get(section, {})
        return settings.get(name) if isinstance(settings, dict) else None

    task, init, most = find("task", "name"), find("train", "init"), find("data", "max_tokens")
    return Preview(
        file,
        task if isinstance(task, str) and task in TASKS else TaskConfig().name,
        init if isinstance(init, str) else "",
        most if isinstance(most, int) else DataConfig().max_tokens,
    )


def saved_settings(request: TrainRequest) -> Path | None:
    """Find the settings of a run that has started; those of a run that was refused before do not count."""
    if not request.started:
        return None
    read_config(request.out)  # the file of a started run is its own: a damaged one is not a wrong recipe
    return request.out / "config.toml"


def settle_config(request: TrainRequest, specs: Sequence[CorpusSpec], preview: Preview) -> Config:
    """Load and complete the settings; a run that continues without --recipe uses those in its folder as the recipe."""
    file, overrides = preview.file, list(request.overrides)
    if file is None:
        choice = choose_recipe(preview.task, specs, data_settings(overrides), begun=bool(preview.init))
        limited = request.budget or any(of_limits(override) for override in overrides)
        until = f": {choice.epochs} epochs" if choice.epochs and not limited else ""
        why = f"{choice.reason}{until}"
        name = " with ".join([choice.recipe, *FASTER.get(choice.recipe, ())])
        request.tell(f"recipe {name}: {why}. Another one: --recipe (`seqloom recipes` lists them)")
        file, overrides = find_recipe(choice.recipe), [*choice.settings, *overrides]
    config = load_config(file, overrides)
    refuse_idle(config, request.overrides)
    origin = config.train.init or request.tokenizer  # the tokenizer of --init is copied into the run's folder
    if request.tokenizer:
        config = replace(config, text=describe_tokenizer(request.tokenizer))
    if origin:
        refuse_text_settings(request.overrides, origin)
        for fault in check_together(config):
            raise UsageError(f"the tokenizer of {origin} does not fit: {fault}")
    source_lang, target_lang = specs[0].languages
    data = replace(
        config.data,
        source_lang=config.data.source_lang or source_lang,
        target_lang=config.data.target_lang or target_lang,
    )
    train = replace(config.train, threads=settle_threads(request, config), precision=settle_precision(request, config))
    return replace(config, data=data, train=budget_instead(train, request) if request.budget else train)


def of_limits(override: str) -> bool:
    """Whether an override says how long to train."""
    return override.partition("=")[0].strip() in ("train.max_steps", "train.max_epochs")


def data_settings(overrides: Sequence[str]) -> DataConfig:
    """Load the settings that decide which pairs are read; data.reverse_source does not, and asks for an rnn."""
    about_data = [one for one in overrides if one.strip().startswith("data.") and "reverse_source" not in one]
    return load_config(None, about_data).data


def budget_instead(train: TrainConfig, request: TrainRequest) -> TrainConfig:
    """Let the budget take the place of the recipe's limits; limits given by hand stay beside it."""
    by_hand = {override.partition("=")[0].strip() for override in request.overrides}
    limits = {"max_steps": train.max_steps, "max_epochs": train.max_epochs}
    kept = {name: limit if f"train.{name}" in by_hand else 0 for name, limit in limits.items()}
    return replace(train, max_steps=kept["max_steps"], max_epochs=kept["max_epochs"])


def settle_threads(request: TrainRequest, config: Config) -> int:
    """Resolve 0: the number the run has started with, on any machine; for a new run, what suits this one."""
    if not config.train.threads and request.started:
        return read_config(request.out).train.threads
    return config.train.threads or default_threads(read_world())


def settle_precision(request: TrainRequest, config: Config) -> str:
    """Resolve `auto`: the precision the run has started with, on any machine; for a new run, what is fast here."""
    if config.train.precision == "auto" and request.started:
        return precision_of(read_config(request.out))
    return choose_precision(config.train.precision, find_device(config.train.device), config.model.width)


def refuse_text_settings(overrides: Sequence[str], origin: Path | str) -> None:
    """Refuse settings of a tokenizer that is not learned here: they would have no effect."""
    if asked := [override.strip() for override in overrides if is_of_text(override)]:
        raise UsageError(
            f"--set {asked[0]}: the tokenizer is taken from {origin}, not learned here. Leave the setting out, "
            "or learn a tokenizer: without --tokenizer and --init"
        )


def is_of_text(override: str) -> bool:
    return override.strip().startswith("text.")


def refuse_idle(config: Config, given: Sequence[str]) -> None:
    """Refuse a setting of another model family or task that the user gave: it would have no effect."""
    for override, reason in idle_overrides(config, given).items():
        raise UsageError(f"--set {override}: {override.partition('=')[0].strip()} is {reason}. Leave it out.")


def describe_tokenizer(folder: Path) -> TextConfig:
    """Return the settings that match a tokenizer taken from elsewhere."""
    tokenizers = Tokenizers.load(folder)
    source, target = tokenizers.source, tokenizers.target
    kinds = [side.kind if side.kind in TOKENIZERS else "foreign" for side in (source, target)]
    if tokenizers.joint:
        return TextConfig(kinds[0], len(source), joint=True)
    kind = "same" if source.kind == target.kind else kinds[1]
    return TextConfig(kinds[0], len(source), joint=False, target_tokenizer=kind, target_vocab_size=len(target))
