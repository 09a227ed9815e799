"""seqloom ladder: the lineage on one corpus, the same time for each rung, one tokenizer, one report.

Each rung is an ordinary run folder in DIR, so the same command continues where it stopped. Two calls of it at the same
time share the work: each takes the next rung that the other is not training.
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

import torch

from seqloom.config import SHAPES, TASKS, Config, load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.errors import Interrupted, InUse, ModelError, TrainingError, UsageError
from seqloom.evaluation.render import table
from seqloom.files.lock import run_lock
from seqloom.ladder.document import Document
from seqloom.ladder.finished import check_same_run, finished_others, in_order
from seqloom.ladder.report import Ladder, chosen_by_test, write_report
from seqloom.ladder.rungs import TAKEN, Rung, choose_rungs
from seqloom.ladder.scores import known_scores, read_test, score_rung
from seqloom.ladder.settings import refuse_one_idea_for_all, settings_of, settle_rung
from seqloom.ladder.tables import CHOSEN_BY_TEST, step_table, young_notes
from seqloom.ladder.tokenizer import FILE, make_tokenizer
from seqloom.models.build import build_model
from seqloom.progress import clock
from seqloom.runtime.engine_torch import find_device
from seqloom.text.sides import FOLDER as TOKENIZER
from seqloom.text.sides import Tokenizers
from seqloom.training.clock import parse_duration
from seqloom.training.run_end import finished_facts
from seqloom.training.settings import is_of_text
from seqloom.workflows.train import Trained, train

Tell = Callable[[str], None]
SET_UP = math.inf  # no limit to waiting for another call's tokenizer or report; the notice names its pid
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
    columns: str | ReadAs | None = None,
    allow_loss: bool = False,
    quiet: bool = False,
) -> Document:
    """Train each rung for `budget` into out/<rung>, translate the test set, write out/report.*; return the report.

    rungs: names separated by commas, all by default (ladder/rungs.py); overrides: "a.b=value" for every rung; seed: one
    for all, by default that of the first rung's settings. Finished rungs of an earlier call in `out` are in the report
    too (ladder/finished.py).
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
        tell(
            f"{len(chosen)} rungs of {clock(seconds)}: about {clock(seconds * len(chosen))} plus the time to translate"
        )
        train_rung = partial(
            train, pairs, valid=valid, budget=seconds, columns=columns, tokenizer=folder, allow_loss=allow_loss,
            quiet=quiet,
        )  # fmt: skip
        return climb(about, find_others, settings, train_rung, tell)


def check_rungs(
    about: Ladder, corpus: CorpusSpec, valid: CorpusSpec | None, settings: Sequence[str], tokenizers: Tokenizers
) -> None:
    """Refuse wrong settings of any rung before the first one is trained, and not hours later."""
    sizes = len(tokenizers.source), len(tokenizers.target), tokenizers.joint
    for rung in about.rungs:
        folder = about.out / rung.name
        try:
            config = settle_rung(about, rung, corpus, settings)
            shape = SHAPES[TASKS[config.task.name].shape]
            if not shape.translates:
                raise UsageError(
                    f"task.name = {config.task.name}: {shape.why_no_translation}, and a ladder compares outputs."
                )
            if config.train.init:  # takes its shape from another model; `train` checks it
                continue
            if (folder / "run.json").exists():
                check_same_run(about, rung, config, corpus, valid, tokenizers)
                refuse_less_time(folder, config, about.budget)
            find_device(config.train.device)
            with torch.device("meta"):  # takes no memory and no time
                build_model(config, *sizes)
        except (UsageError, ModelError) as error:
            raise type(error)(f"rung {rung.name}: {error}") from None


def climb(
    about: Ladder,
    find_others: Callable[[Tell], list[Rung]],
    settings: Sequence[str],
    train_rung: Callable[..., Trained],
    tell: Tell,
) -> Document:
    """Train one rung after the other and write the report after each; if one fails, report it and continue."""
    failures: dict[str, str] = {}
    waiting = about.rungs
    for _ in range(2):  # look again at rungs of another call: it may have died since
        busy = []
        for rung in waiting:
            tell(f"\nrung {about.rungs.index(rung) + 1} of {len(about.rungs)}: {rung.name} (recipe {rung.recipe})")
            try:
                climb_to(about, rung, settings_of(rung, settings), train_rung, tell)
            except TrainingError as error:
                failures[rung.name] = str(error)
                tell(f"{rung.name}: {error}")
            except InUse:
                busy.append(rung)
                tell(f"another call is training {rung.name}: skipped")
            with run_lock(about.out, SET_UP, tell):
                document = report_all(replace(about, rungs=in_order(about.rungs, find_others(ignore))), failures, tell)
        waiting = busy
    if waiting:
        tell(f"{', '.join(rung.name for rung in waiting)}: left to the other call; its report will include all rungs")
    tell(f"report: {about.out / 'report.md'}, {about.out / 'report.html'}, {about.out / 'report.json'}")
    return document


def climb_to(
    about: Ladder, rung: Rung, settings: Sequence[str], train_rung: Callable[..., Trained], tell: Tell
) -> None:
    """Train a rung and translate the test set; InUse if another call is at it, so that only one of them translates."""
    folder = about.out / rung.name
    train_rung(out=folder, recipe=rung.recipe, overrides=settings)
    with run_lock(folder):
        score_rung(folder, about.test, tell)


def report_all(about: Ladder, failures: dict[str, str], tell: Tell) -> Document:
    """Write the report of all rungs that are finished now, whichever call trained them."""
    known = {rung.name: known_scores(about.out / rung.name, about.test) for rung in about.rungs}
    # a rung that failed may still have scores: those of an earlier, shorter run, whose model is gone
    scores = {name: found for name, found in known.items() if found and name not in failures}
    return write_report(about, scores, failures, tell)


def ignore(text: str) -> None:
    """Print nothing: notices that were printed once are not repeated after every rung."""


def refuse_stdin(*names: str | None) -> None:
    if any(name is not None and "-" in name.split(",") for name in names):
        raise UsageError("-: the ladder reads its data once per rung. Write standard input to a file and name that.")


def refuse_other_work(out: Path) -> None:
    """Refuse a folder without ladder.json in which files have names that a ladder writes: it would overwrite them."""
    found = sorted(name for name in TAKEN - {"lock"} if (out / name).exists())
    if found and FILE not in found:
        raise UsageError(
            f"{out} does not hold a ladder, which would overwrite its {', '.join(found)}; choose another --out."
        )


def refuse_less_time(folder: Path, config: Config, budget: float) -> None:
    """Refuse a budget smaller than the time that a rung already had; a larger budget continues it."""
    facts = finished_facts(folder, config, budget)
    had = (facts.limits or {}).get("seconds", 0.0) if facts else 0.0
    if had > budget:
        raise UsageError(
            f"{folder} had {clock(had)}, more than this budget of {clock(budget)}: the rungs would not be comparable. "
            "Give the same --budget, or choose another --out."
        )


@contextmanager
def keeping_no_tokenizer(folder: Path) -> Iterator[None]:
    """If the block fails, delete a tokenizer that it made: it would tie the next ladder in this folder to its data."""
    had_one = (folder / FILE).exists()
    try:
        yield
    except BaseException:
        if not had_one and (folder / FILE).exists():
            shutil.rmtree(folder / TOKENIZER, ignore_errors=True)
            with suppress(OSError):  # the first error matters more
                (folder / FILE).unlink()
        raise


@contextmanager
def saying_how_to_go_on(out: Path) -> Iterator[None]:
    """Turn Ctrl-C into a message that says how to continue; while training, `train` has saved a checkpoint."""
    kept = f"Finished rungs in {out} are kept."
    try:
        yield
    except Interrupted as error:
        raise Interrupted(f"{error} {kept}", error.exit_code) from None
    except KeyboardInterrupt:
        raise Interrupted(f"stopped. The same command continues from there. {kept}", 130) from None


def summarise(report: Document) -> str:
    """Return the main table for the terminal, without the papers."""
    shown = step_table(report, papers=False)
    rows = [[shorten(cell, WIDEST) for cell in row] for row in (shown.head, *shown.rows)]
    return "\n".join([table(rows), *young_notes(report)])
