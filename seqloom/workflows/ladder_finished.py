"""Finished rungs in the ladder's folder that this call does not name: they belong in its report too.

So rungs that are run one command at a time end in one whole report, and a step finds the rung before it.
"""

from collections.abc import Callable, Sequence

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import ModelError, UsageError
from seqloom.runtime.folder import read_facts
from seqloom.text.sides import Tokenizers
from seqloom.workflows.gather import refuse_other_data
from seqloom.workflows.ladder_report import Ladder
from seqloom.workflows.ladder_rungs import RUNGS, Rung
from seqloom.workflows.ladder_scores import FILE, known_scores
from seqloom.workflows.ladder_settings import settle_rung
from seqloom.workflows.limits import run_limits
from seqloom.workflows.resume import check_same_settings


def finished_others(
    about: Ladder,
    corpus: CorpusSpec,
    valid: CorpusSpec | None,
    settings: Sequence[str],
    tokenizers: Tokenizers,
    tell: Callable[[str], None],
) -> list[Rung]:
    """Built-in rungs, not among about.rungs, that this very call would find finished; others are named and left out."""
    there = {file.parent.name for file in about.out.glob(f"*/{FILE}")} - {rung.name for rung in about.rungs}
    built_in = [rung for rung in RUNGS if rung.name in there]
    same = [rung for rung in built_in if is_same(about, rung, corpus, valid, settings, tokenizers)]
    own = there - {rung.name for rung in built_in}
    if strange := [rung.name for rung in built_in if rung not in same] + sorted(own):
        tell(
            f"not in this report, though in {about.out}: {', '.join(strange)} "
            "(not finished, or of other settings, data, limits or test sentences"
            f"{', or of a recipe of your own: name its file in --rungs, too' if own else ''})"
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
    """What lets `train` and `score_rung` pass over a finished rung, and the very same limits beside it."""
    folder = about.out / rung.name
    try:
        config = settle_rung(about, rung, corpus, settings)
        check_same_run(about, rung, config, corpus, valid, tokenizers)
        same_limits = read_facts(folder).get("limits") == run_limits(config, about.budget)
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
    """UsageError where `train` would refuse to go on with the run that is there."""
    folder = about.out / rung.name
    check_same_settings(folder, config)
    refuse_other_data(folder, [corpus], [valid] if valid else [], tokenizers, config)


def in_order(chosen: Sequence[Rung], others: Sequence[Rung]) -> list[Rung]:
    """The chosen ones as they were given, each other one before the first of them that comes later in history.

    A recipe of one's own stays behind the rung it was named after, which it is compared with; named without any
    built-in rung it comes last.
    """
    places = {rung: place for place, rung in enumerate(RUNGS)}
    own = -1 if any(rung in places for rung in chosen) else len(RUNGS)
    order = list(chosen)
    for other in others:
        later = (place for place, rung in enumerate(order) if places.get(rung, own) > places[other])
        order.insert(next(later, len(order)), other)
    return order
