"""Settings of rungs: what --set may change for all of them, and which of these settings each rung reads."""

from collections.abc import Sequence

from seqloom.config import Config, idle_overrides, load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import UsageError
from seqloom.ladder.report import Ladder
from seqloom.ladder.rungs import Rung
from seqloom.training.request import TrainRequest
from seqloom.training.resume import flatten
from seqloom.training.settings import look_ahead, settle_config

IDEAS = {  # the settings that distinguish rungs; sizes and training may be set for all, even if the recipes differ
    "model.kind", "model.cell", "model.attention", "model.decoder", "model.bidirectional", "model.layers",
    "data.reverse_source",
}  # fmt: skip


def refuse_one_idea_for_all(rungs: Sequence[Rung], overrides: Sequence[str]) -> None:
    """Refuse one value of a setting that distinguishes rungs: with the same cell, rnn, lstm and gru are one model."""
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
    """Return those of the --set settings that this rung reads: a recurrent network has no heads, for example."""
    idle = idle_overrides(load_config(find_recipe(rung.recipe), overrides), overrides)
    return [override for override in overrides if override not in idle]


def settle_rung(about: Ladder, rung: Rung, corpus: CorpusSpec, settings: Sequence[str]) -> Config:
    """The complete settings of a rung, as `train` will resolve them."""
    request = TrainRequest(
        (about.pairs,),
        about.out / rung.name,
        recipe=rung.recipe,
        overrides=tuple(settings_of(rung, settings)),
        budget=about.budget,
        tokenizer=about.out,
    )
    return settle_config(request, [corpus], look_ahead(request))
