"""The settings of rungs: what --set may change in all of them, and what one of them reads of that."""

from collections.abc import Sequence

from seqloom.config import Config, idle_overrides, load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import UsageError
from seqloom.workflows.ladder_report import Ladder
from seqloom.workflows.ladder_rungs import Rung
from seqloom.workflows.recipes import find_recipe
from seqloom.workflows.resume import flatten
from seqloom.workflows.settings import settle_config

IDEAS = {  # what makes a rung that rung; sizes and training may be set for all, even where recipes differ in them
    "model.kind", "model.cell", "model.attention", "model.decoder", "model.bidirectional", "model.layers",
    "data.reverse_source",
}  # fmt: skip


def refuse_one_idea_for_all(rungs: Sequence[Rung], overrides: Sequence[str]) -> None:
    """The same cell in rnn, lstm and gru would be one model under three names, and a report of steps that are none."""
    recipes = {rung.name: load_config(find_recipe(rung.recipe)) for rung in rungs}
    for override in overrides:
        name, equals, _ = override.partition("=")
        if not equals or name.strip() not in IDEAS:
            continue
        own = {rung: config for rung, config in recipes.items() if not idle_overrides(config, [override])}
        found = {rung: flatten(config)[name.strip()] for rung, config in own.items()}
        if len(set(found.values())) > 1:
            raise UsageError(
                f"--set {override}: these rungs differ in {name.strip()} "
                f"({', '.join(f'{rung}: {setting}' for rung, setting in found.items())}), so one value for all would "
                "make different rungs the same. Leave it out, choose --rungs that share it, or write a recipe file of "
                "your own and name that in --rungs."
            )


def settings_of(rung: Rung, overrides: Sequence[str]) -> list[str]:
    """What of the settings for every rung this one can read: a recurrent network has no heads."""
    idle = idle_overrides(load_config(find_recipe(rung.recipe), overrides), overrides)
    return [override for override in overrides if override not in idle]


def settle_rung(about: Ladder, rung: Rung, corpus: CorpusSpec, settings: Sequence[str]) -> Config:
    """The complete settings of a rung, as `train` will find them."""
    own = settings_of(rung, settings)
    return settle_config(about.out / rung.name, [corpus], rung.recipe, own, about.budget, about.out, lambda text: None)
