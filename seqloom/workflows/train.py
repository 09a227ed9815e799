"""seqloom train: files -> checked pairs -> tokens -> a trained model in a folder. The same call again continues."""

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import TASKS
from seqloom.data.given import named_or_given
from seqloom.data.read_as import ReadAs
from seqloom.data.remote import fetch_all
from seqloom.data.shards import BUILDING
from seqloom.errors import DataError, ModelError, SeqloomError, TrainingError, UsageError, did_you_mean
from seqloom.files.folders import nothing_left_behind
from seqloom.files.leftovers import clear_leftovers, is_leftover
from seqloom.files.lock import run_lock
from seqloom.runtime.checkpoints import FOLDER as CHECKPOINTS
from seqloom.runtime.checkpoints import STEP_NAME, list_checkpoints, step_name
from seqloom.runtime.folder import read_config, read_facts
from seqloom.runtime.run_facts import RunFacts
from seqloom.training.checkpoint import last_one_kept
from seqloom.training.clock import parse_duration
from seqloom.training.follow import await_run
from seqloom.training.processes import OneProcess, ProcessLost
from seqloom.training.request import Tell, TrainRequest, init_setting, tell_nothing
from seqloom.training.run import run_training, train_model
from seqloom.training.settings import settle
from seqloom.training.several import connected
from seqloom.training.stopped_run import finish_stopped
from seqloom.training.world import read_world

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering


def tell_user(text: str) -> None:
    """Print a notice; sys.stderr is looked up each time, because a live progress bar takes its place."""
    print(text, file=sys.stderr, flush=True)


FETCHED = "fetched"  # files that were named by an address
CORPUS = "corpus"  # the pairs that `seqloom demo` writes into its run folder
RUN_FILES = {  # a run may have these before run.json, which makes it one
    "lock", "config.toml", "tokenizer", "store", BUILDING, "started_from.json", "stdin.tsv", "stdin.txt", "given.jsonl",
    "given.txt", "given-valid.jsonl", "given-valid.txt", CORPUS, FETCHED,
}  # fmt: skip
LATER_FILES = RUN_FILES | {  # and these once it is one
    "run.json", "metrics.jsonl", "model.safetensors", "golden.json", "card.md", "engine", "basis.safetensors",
    "tokenizer.json", "source.json", "target.json",
}  # fmt: skip
SHOWN = 3  # names listed in a message


@dataclass(frozen=True)
class Trained:
    """What `seqloom.train` returns: the run folder and the content of its run.json."""

    run: Path
    facts: RunFacts

    def load(self, threads: int | None = None, device: str = "cpu") -> "Answering":
        """Load the model, as `seqloom.load` does."""
        from seqloom.runtime.answering import load_answering

        return load_answering([self.run], threads, device=device)


def train(
    pairs: str | Path | Iterable[Any],
    *,
    out: str | Path,
    valid: str | Path | Iterable[Any] | None = None,
    more: Sequence[str | Path] = (),
    mix: Sequence[str] = (),
    recipe: str | Path | None = None,
    overrides: Mapping[str, Any] | Sequence[str] = (),
    task: str | None = None,
    budget: str | float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    init: str | Path | None = None,
    columns: str | ReadAs | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    tokenizer: str | Path | None = None,
    allow_loss: bool = False,
    quiet: bool = False,
) -> Trained:
    """Train a model on pairs into the folder `out`, or continue where an earlier call stopped.

    pairs, valid: the name of a file (two parallel ones: "a.en,a.fr"), a list or an iterator of (source, target), or a
    pandas DataFrame; such pairs are copied into `out`, and the same call continues with them. more: further files of
    the same kind; mix: further files, each with a weight of its own as in "news.tsv:2".
    columns, delimiter, encoding: how the files are read, as the options of `seqloom train`; recipe: a name or a TOML
    file; overrides: settings, as {"model.width": 128}, {"model": {"width": 128}} or ["model.width=128"]; task: what the
    model learns, `seqloom.config.TASKS`; budget: seconds or "20m"; device: auto, cpu or cuda; init: the folder of a
    model to start from; tokenizer: a folder to take the tokenizer from; allow_loss: train even if more than 5 % of the
    lines cannot be used.
    """
    began = time.monotonic()
    if task is not None and task not in TASKS:
        raise UsageError(f"--task {task}: no such task.{did_you_mean(task, TASKS)} Tasks: {', '.join(TASKS)}")
    shorthands = {"task.name": task, "train.seed": seed, "train.threads": threads, "train.device": device}
    short = [f"{name}={value}" for name, value in shorthands.items() if value is not None]
    request = TrainRequest(
        pairs=(named_or_given(pairs), *map(str, more)),
        out=Path(out),
        valid=named_or_given(valid) if valid is not None else None,
        mix=tuple(mix),
        recipe=str(recipe) if recipe else None,
        overrides=(*as_settings(overrides), *short, *([init_setting(init)] if init else [])),
        budget=parse_duration(budget) if isinstance(budget, str) else budget,
        columns=ReadAs.of(columns, delimiter, encoding),
        tokenizer=Path(tokenizer) if tokenizer else None,
        allow_loss=allow_loss,
        quiet=quiet,
        tell=tell_nothing if quiet else tell_user,
    )
    with connected(read_world()) as processes, told_once(processes, request.out):
        return Trained(
            request.out, lead(request, processes, began) if processes.first else follow(request, processes, began)
        )


def lead(request: TrainRequest, processes: OneProcess, began: float) -> RunFacts:
    """Train in the only process, or in the first of several."""
    refuse_other_files(request)
    refused = nothing_left_behind(request.out, (UsageError, DataError, ModelError), unless=CHECKPOINTS)
    with run_lock(request.out), last_one_kept(request.out / CHECKPOINTS), refused:
        clear_after_a_kill(request.out)
        return run_training(settle(with_files(request)), began, processes)


def follow(request: TrainRequest, processes: OneProcess, began: float) -> RunFacts:
    """Train in a process after the first, with the data and the settings that the first prepares."""
    run = await_run(request, processes)
    return train_model(run, began, processes) if run else read_facts(request.out)


@contextmanager
def told_once(processes: OneProcess, out: Path) -> Iterator[None]:
    """Let one process say what ended the run of all; the others end in silence."""
    try:
        yield
    except SeqloomError as error:
        if not processes.claim_word():
            raise SystemExit(error.exit_code) from None
        if not isinstance(error, ProcessLost):
            raise
        steps = list_checkpoints(out / CHECKPOINTS)
        kept = f"The last checkpoint, {step_name(steps[-1])}, is kept." if steps else "There is no checkpoint yet."
        raise TrainingError(
            f"{error} {kept} The same command continues from there, with any number of processes; "
            "`torchrun --max-restarts N` starts it again by itself."
        ) from None


def with_files(request: TrainRequest) -> TrainRequest:
    """Fetch the files that are named by an address into the run's folder, and name those in their place."""
    folder = request.out / FETCHED

    def local(name: str) -> str:
        return fetch_all(name, folder)

    return replace(
        request,
        pairs=tuple(local(each) if isinstance(each, str) else each for each in request.pairs),
        valid=local(request.valid) if isinstance(request.valid, str) else request.valid,
        mix=tuple(map(local, request.mix)),
    )


def as_settings(overrides: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Overrides of any form as the command line writes them: `section.name=value`."""
    if isinstance(overrides, str):
        return [overrides]
    if not isinstance(overrides, Mapping):
        return [*overrides]
    flat = [
        (f"{name}.{inner}", setting) if isinstance(value, Mapping) else (name, value)
        for name, value in overrides.items()
        for inner, setting in (value.items() if isinstance(value, Mapping) else [("", value)])
    ]
    return [f"{name}={json.dumps(value, default=str)}" for name, value in flat]


def refuse_other_files(request: TrainRequest) -> None:
    """Refuse an `out` that holds anything but a run, or what a run leaves that was killed before it began."""
    if request.started or not request.out.is_dir():
        return
    names = sorted(entry.name for entry in request.out.iterdir())
    others = [name for name in names if name not in RUN_FILES and not is_leftover(name)]
    if not others and "lock" not in names:  # every run takes the lock first: these are another's
        others = [name for name in names if name != CORPUS]
    if others:
        shown = ", ".join(others[:SHOWN]) + (" ..." if len(others) > SHOWN else "")
        raise UsageError(f"--out {request.out}: holds other files ({shown}) and no run. Name a new or empty folder.")


def clear_after_a_kill(out: Path) -> None:
    """Delete the temporary files and folders of a start that was killed; call it while the lock is held."""
    names = re.compile("|".join(map(re.escape, sorted(LATER_FILES))))
    for folder in (out, out / "tokenizer"):
        clear_leftovers(folder, names)
    clear_leftovers(out / CHECKPOINTS, STEP_NAME)


def finish(folder: str | Path, tell: Tell = tell_user) -> Trained:
    """Make a model of a run that was stopped, from its newest checkpoint, with all that the end of training writes.

    The checkpoints stay as they are: the same call of `train` afterwards continues from them exactly.
    """
    folder = Path(folder)
    read_config(folder)  # before the lock makes a folder of a wrong name
    with run_lock(folder):
        clear_after_a_kill(folder)
        return Trained(folder, finish_stopped(folder, tell))
