"""Models beside a served one: loaded only to be explained on the same text (`seqloom serve MODEL --beside OTHER`).

Each belongs to the served model of the same two languages, and has the name of its folder. A folder may be named as
those languages are (en-fr): requests that give this name mean the folder, and those that give none the served model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from seqloom.errors import UsageError
from seqloom.serve.languages import UNNAMED

if TYPE_CHECKING:
    from seqloom.serve.service import Model, Pair

MOST = 3  # beside one model: a page shows them as columns


def place_beside(models: "Mapping[tuple[str, str], Model]", others: "Iterable[Pair]") -> None:
    """Give each of the other models to the served one that translates the same languages."""
    for pair in (with_languages(models, other) for other in others):
        model = models.get((pair.source, pair.target))
        if model is None:
            known = ", ".join(each.name for each in models.values())
            raise UsageError(
                f"--beside {pair.folder}: it translates {pair.source} to {pair.target}, and the models that are "
                f"served translate {known}. Serve a model of these languages too, or name them: "
                f"--beside {next(iter(models.values())).name}={pair.translator.folder}"
            )
        if len(model.beside) == MOST:
            raise UsageError(f"--beside {pair.folder}: {model.name} has {MOST} models beside it; {MOST} is the most")
        name = folder_name(pair)
        rest = [each for each in models.values() if each is not model]
        if name in {*folder_names(model), *(known for each in rest for known in (each.name, *folder_names(each)))}:
            raise UsageError(f"--beside {pair.folder}: another model is named {name} too; rename one of the folders")
        model.beside[name] = pair.translator


def with_languages(models: "Mapping[tuple[str, str], Model]", other: "Pair") -> "Pair":
    """A model that does not know its languages belongs to the only one that is served."""
    if (other.source, other.target) != UNNAMED or len(models) > 1:
        return other
    source, target = next(iter(models))
    return replace(other, source=source, target=target)


def folder_names(model: "Model") -> list[str]:
    """The names of the folders of a served model and of those beside it."""
    own = model.translator.folder
    return [*([own.name] if own else []), *model.beside]


def folder_name(pair: "Pair") -> str:
    return pair.translator.folder.name if pair.translator.folder else pair.folder
