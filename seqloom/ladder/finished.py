"""Finished rungs in the ladder's folder that this call does not name: they belong in its report too.

So rungs that are trained by separate commands end in one complete report, and each is compared with the one before.
"""

from collections.abc import Callable, Sequence

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import ModelError, UsageError
from seqloom.ladder.report import Ladder
from seqloom.ladder.rungs import RUNGS, Rung
from seqloom.ladder.scores import FILE, known_scores
from seqloom.ladder.settings import settle_rung
from seqloom.runtime.folder import read_facts
from seqloom.text.sides import Tokenizers
from seqloom.training.data import refuse_other_data
from seqloom.training.resume import check_same_settings
from seqloom.training.run_end import run_limits


def finished_others(
    about: Ladder,
    corpus: CorpusSpec,
    valid: CorpusSpec | None,
    settings: Sequence[str],
    tokenizers: Tokenizers,
    tell: Callable[[str], None],
) -> list[Rung]:
    """Return other finished built-in rungs that fit this call; report the names of those that do not fit."""
    there = {file.parent.name for file in about.out.glob(f"*/{FILE}")} - {rung.name for rung in about.rungs}
    built_in = [rung for rung in RUNGS if rung.name in there]
    same = [rung for rung in built_in if is_same(about, rung, corpus, valid, settings, tokenizers)]
    own = there - {rung.name for rung in built_in}
    if strange := [rung.name for rung in built_in if rung not in same] + sorted(own):
        tell(
            f"in {about.out}, but not in this report: {', '.join(strange)} "
            "(not finished, or with other settings, data, limits or test sentences"
            f"{', or from a recipe file of your own: name that file in --rungs too' if own else ''})"
        )
    return same


def is_same(
    about: Ladder,
    rung: Rung,
    corpus: CorpusSpec,
    valid: CorpusSpec | None,
    settings: Sequence[str],
    tokenizers: Tokenizers,
) -> bool:
    """Whether this rung is finished and scored with the settings, data, limits and test set of this call."""
    folder = about.out / rung.name
    try:
        config = settle_rung(about, rung, corpus, settings)
        check_same_run(about, rung, config, corpus, valid, tokenizers)
        same_limits = read_facts(folder).limits == run_limits(config, about.budget)
        return same_limits and bool(known_scores(folder, about.test))
    except (UsageError, ModelError):
        return False


def check_same_run(
    about: Ladder,
    rung: Rung,
    config: Config,
    corpus: CorpusSpec,
    valid: CorpusSpec | None,
    tokenizers: Tokenizers,
) -> None:
    """Raise UsageError if `train` would refuse to continue the run in this folder."""
    folder = about.out / rung.name
    check_same_settings(folder, config)
    refuse_other_data(folder, [corpus], [valid] if valid else [], tokenizers, config)


def in_order(chosen: Sequence[Rung], others: Sequence[Rung]) -> list[Rung]:
    """Merge other rungs into the chosen ones, each before the first chosen rung that is later in history.

    The chosen rungs keep their order, so a recipe of the user stays behind the rung that it is compared with. If no
    built-in rung is chosen, the user's recipes come last.
    """
    places = {rung: place for place, rung in enumerate(RUNGS)}
    own = -1 if any(rung in places for rung in chosen) else len(RUNGS)
    order = list(chosen)
    for other in others:
        later = (place for place, rung in enumerate(order) if places.get(rung, own) > places[other])
        order.insert(next(later, len(order)), other)
    return order
