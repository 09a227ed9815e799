"""seqloom ladder: the lineage on one corpus, the same time for each rung, one tokenizer, one report.

Each rung is an ordinary run folder in DIR, so the same command again goes on where it stopped, and the same command
twice at once shares the work: each takes the next rung that nobody is at.
"""

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any

import torch

from seqloom.config import Config, load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import Interrupted, InUse, ModelError, TrainingError, UsageError
from seqloom.evaluate.ladder_tables import CHOSEN_BY_TEST, step_table
from seqloom.evaluate.render import table
from seqloom.models.build import build_model
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.members import NOT_TRANSLATORS
from seqloom.text.sides import FOLDER as TOKENIZER
from seqloom.text.sides import Tokenizers
from seqloom.train.clock import parse_duration
from seqloom.train.lock import run_lock
from seqloom.train.progress import clock
from seqloom.workflows.ladder_finished import check_same_run, finished_others, in_order
from seqloom.workflows.ladder_report import Ladder, chosen_by_test, write_report
from seqloom.workflows.ladder_rungs import TAKEN, Rung, choose_rungs
from seqloom.workflows.ladder_scores import known_scores, read_test, score_rung
from seqloom.workflows.ladder_settings import refuse_one_idea_for_all, settings_of, settle_rung
from seqloom.workflows.ladder_tokenizer import FILE, make_tokenizer
from seqloom.workflows.limits import finished_facts
from seqloom.workflows.recipes import find_recipe
from seqloom.workflows.settings import is_of_text
from seqloom.workflows.train import train

Tell = Callable[[str], None]
SET_UP = math.inf  # a call waits for the tokenizer or the report of another one, which says its pid, however long
WIDEST = 60  # columns of a cell in the terminal: a reason why a rung failed is long


def ladder(
    pairs: str,
    *,
    test: str,
    out: str | Path,
    budget: str | float,
    valid: str | None = None,
    rungs: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    threads: int | None = None,
    columns: str | None = None,
    allow_loss: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Train each rung for `budget` into out/<rung>, translate the test set, write out/report.*; the report.

    rungs: names with commas between, all by default (`ladder_rungs`); overrides: "a.b=value" for every rung; seed: one
    for all, by default that of the first rung's settings. Finished rungs of an earlier call in `out` are in the report
    too (`ladder_finished`).
    """
    chosen = choose_rungs(rungs)
    refuse_stdin(pairs, test, valid)
    refuse_one_idea_for_all(chosen, overrides)
    overrides = [*overrides, *([] if threads is None else [f"train.threads={threads}"])]
    overrides += [] if seed is None else [f"train.seed={seed}"]
    configs = [load_config(find_recipe(rung.recipe), overrides) for rung in chosen]  # every fault, before any work
    seconds = parse_duration(budget) if isinstance(budget, str) else budget
    tell: Tell = (lambda text: None) if quiet else partial(print, file=sys.stderr, flush=True)
    folder = Path(out)
    if (folder / "config.toml").exists():
        raise UsageError(f"{folder} is the folder of one model; choose another --out: each rung gets a folder in it.")
    with saying_how_to_go_on(folder):
        with run_lock(folder, SET_UP, tell), keeping_no_tokenizer(folder):
            refuse_other_work(folder)
            test_set = read_test(test, columns, configs[0], allow_loss, tell)
            corpus = CorpusSpec.parse(pairs, columns)
            held_out = CorpusSpec.parse(valid, columns) if valid else None
            tokenizers = make_tokenizer(folder, corpus, held_out, configs[0], allow_loss, tell, quiet)
            settings = [override for override in overrides if not is_of_text(override)]  # those were the tokenizer's
            settings.append(f"train.seed={configs[0].train.seed}")  # one for all
            about = Ladder(folder, chosen, pairs, valid, test_set, seconds, configs[0].train.seed)
            check_rungs(about, corpus, held_out, settings, tokenizers)
        find_others = partial(finished_others, about, corpus, held_out, settings, tokenizers)
        find_others(tell)
        if chosen_by_test(about):
            tell(CHOSEN_BY_TEST)
        tell(f"{len(chosen)} rungs of {clock(seconds)}: about {clock(seconds * len(chosen))} and the translating")
        same_for_all = {
            "valid": valid, "budget": seconds, "columns": columns, "tokenizer": folder, "allow_loss": allow_loss,
            "quiet": quiet,
        }  # fmt: skip
        return climb(about, find_others, settings, same_for_all, tell)


def check_rungs(
    about: Ladder, corpus: CorpusSpec, valid: CorpusSpec | None, settings: Sequence[str], tokenizers: Tokenizers
) -> None:
    """What a rung would be refused for is told before the first one is trained; hours later is too late."""
    sizes = len(tokenizers.source), len(tokenizers.target), tokenizers.joint
    for rung in about.rungs:
        folder = about.out / rung.name
        try:
            config = settle_rung(about, rung, corpus, settings)
            if config.task.name in NOT_TRANSLATORS:
                why, _ = NOT_TRANSLATORS[config.task.name]
                raise UsageError(f"task.name = {config.task.name}: {why}, and the report is about what rungs write.")
            if config.train.init:  # takes its shape from another model: `train` looks at that
                continue
            if (folder / "run.json").exists():
                check_same_run(about, rung, config, corpus, valid, tokenizers)
                refuse_less_time(folder, config, about.budget)
            find_device(config.train.device)
            with torch.device("meta"):  # no memory, no time
                build_model(config, *sizes)
        except (UsageError, ModelError) as error:
            raise type(error)(f"rung {rung.name}: {error}") from None


def climb(
    about: Ladder,
    find_others: Callable[[Tell], list[Rung]],
    settings: Sequence[str],
    same_for_all: dict[str, Any],
    tell: Tell,
) -> dict[str, Any]:
    """Rung after rung, the report anew after each; one that gives up is reported, and the others go on."""
    failures: dict[str, str] = {}
    document: dict[str, Any] = {}
    waiting = about.rungs
    for _ in range(2):  # what another call was at is looked at again: that call may have died since
        busy = []
        for rung in waiting:
            tell(f"\nrung {about.rungs.index(rung) + 1} of {len(about.rungs)}: {rung.name} (recipe {rung.recipe})")
            try:
                climb_to(about, rung, settings_of(rung, settings), same_for_all, tell)
            except TrainingError as error:
                failures[rung.name] = str(error)
                tell(f"{rung.name}: {error}")
            except InUse:
                busy.append(rung)
                tell(f"another call is at {rung.name}: passed over")
            with run_lock(about.out, SET_UP, tell):
                document = report_all(replace(about, rungs=in_order(about.rungs, find_others(ignore))), failures, tell)
        waiting = busy
    if waiting:
        tell(f"{', '.join(rung.name for rung in waiting)}: left to the other call, whose report will have all")
    tell(f"report: {about.out / 'report.md'}, {about.out / 'report.html'}, {about.out / 'report.json'}")
    return document


def climb_to(about: Ladder, rung: Rung, settings: Sequence[str], same_for_all: dict[str, Any], tell: Tell) -> None:
    """Train and translate. InUse where another call does: two that end at once must not both translate."""
    folder = about.out / rung.name
    train(about.pairs, out=folder, recipe=rung.recipe, overrides=settings, **same_for_all)
    with run_lock(folder):
        score_rung(folder, about.test, tell)


def report_all(about: Ladder, failures: dict[str, str], tell: Tell) -> dict[str, Any]:
    """Of all rungs that are finished now, whoever trained them."""
    known = {rung.name: known_scores(about.out / rung.name, about.test) for rung in about.rungs}
    # what a rung that gave up has beside is of a shorter run, whose model is no longer that of its folder
    scores = {name: found for name, found in known.items() if found and name not in failures}
    return write_report(about, scores, failures, tell)


def ignore(text: str) -> None:
    """What was told once is not told after every rung."""


def refuse_stdin(*names: str | None) -> None:
    if any(name is not None and "-" in name.split(",") for name in names):
        raise UsageError("-: the ladder reads its data once a rung. Write standard input to a file and name that.")


def refuse_other_work(out: Path) -> None:
    """A ladder writes into its folder under names of its own; where it was never at work, such files are another's."""
    found = sorted(name for name in TAKEN - {"lock"} if (out / name).exists())
    if found and FILE not in found:
        raise UsageError(
            f"{out} is no ladder's folder, and a ladder would write over its {', '.join(found)}; choose another --out."
        )


def refuse_less_time(folder: Path, config: Config, budget: float) -> None:
    """A larger budget goes on with a rung; what was learned in more time than this cannot be taken back."""
    facts = finished_facts(folder, config, budget) or {}
    had = facts.get("limits", {}).get("seconds", 0.0)
    if had > budget:
        raise UsageError(
            f"{folder} had {clock(had)}, more than this budget of {clock(budget)}: the rungs would not be comparable. "
            "Give the same --budget, or choose another --out."
        )


@contextmanager
def keeping_no_tokenizer(folder: Path) -> Iterator[None]:
    """That was made for a ladder which is then refused: it would bind the next one to its data."""
    had_one = (folder / FILE).exists()
    try:
        yield
    except BaseException:
        if not had_one and (folder / FILE).exists():
            shutil.rmtree(folder / TOKENIZER, ignore_errors=True)
            with suppress(OSError):  # why the ladder is refused matters more
                (folder / FILE).unlink()
        raise


@contextmanager
def saying_how_to_go_on(out: Path) -> Iterator[None]:
    """Ctrl-C while training saves (`train` does that); anywhere else nothing is lost but the work at hand."""
    kept = f"Finished rungs in {out} stay as they are."
    try:
        yield
    except Interrupted as error:
        raise Interrupted(f"{error} {kept}", error.exit_code) from None
    except KeyboardInterrupt:
        raise Interrupted(f"stopped. The same command goes on from there. {kept}", 130) from None


def summarise(report: dict[str, Any]) -> str:
    """The main table for the terminal, without the papers."""
    shown = step_table(report)
    return table([[shorten(cell, WIDEST) for cell in row[:-1]] for row in (shown.head, *shown.rows)])
