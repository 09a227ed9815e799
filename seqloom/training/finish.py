"""The end of training: choose the weights, write the model, its golden answers and its card."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from seqloom import __version__
from seqloom.config import TASKS, Config, TrainConfig
from seqloom.data.store import Store
from seqloom.errors import ModelError, WriteError
from seqloom.files.durable import hash_file, replace_file
from seqloom.formats.export_ctranslate2 import make_engine
from seqloom.metrics.measures import METRICS, title_of
from seqloom.models.weights import save_weights
from seqloom.nn.adapter import merge_adapters
from seqloom.runtime.answering import load_answering
from seqloom.runtime.checkpoints import FOLDER, STATE, Checkpoint, list_checkpoints, open_checkpoint, step_name
from seqloom.runtime.folder import WEIGHTS, read_facts
from seqloom.runtime.folder_sizes import measure_folder
from seqloom.runtime.gap_filler import GapFiller, with_a_gap
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.training.checkpoint import average_checkpoints, prune_checkpoints
from seqloom.training.expectation import tell_how_little
from seqloom.training.loop import best_steps, steps_to_average
from seqloom.training.run_parts import Run, known_facts
from seqloom.training.samples import MOST_AT_A_GLANCE
from seqloom.training.state import RunState
from seqloom.training.validation import Validation

NUM_GOLDEN = 5


@dataclass(frozen=True)
class Chosen:
    """Which weights became the model."""

    name: str  # last, best or average
    losses: dict[str, float]  # validation loss of each candidate
    scores: dict[str, float]  # the task's own score of each; empty where the loss chooses


def complete(
    run: Run,
    model: nn.Module,
    validation: Validation,
    state: RunState,
    batches_per_epoch: int,
    seconds: Callable[[], float],
    limits: dict[str, float],
) -> RunFacts:
    """Choose the weights, write the model and all that belongs to it; what run.json says at the end.

    The last step is validated and its checkpoint saved. limits: the run continues when one of them grows.
    """
    config, out, tell = run.config, run.request.out, run.request.tell
    metric = TASKS[config.task.name].chosen_by
    chosen = choose_weights(out / FOLDER, state, config.train, model, validation, metric, tell)
    found = [(title_of(metric), chosen.scores), ("validation loss", chosen.losses)]
    told = [f"{title}: " + ", ".join(f"{n} {value:.4f}" for n, value in row.items()) for title, row in found if row]
    tell(f"weights: {chosen.name} ({'; '.join(told)})")
    merge_adapters(model)
    write_model(out, model, run.valid)
    write_fast_form(out, tell)
    facts = replace(
        known_facts(run, sum(p.numel() for p in model.parameters())),
        step=state.step, epoch=state.epoch, passes=round(state.epoch + state.batch / batches_per_epoch, 3),
        tokens=state.tokens, seconds=round(seconds(), 1),
        weights=chosen.name, weights_sha256=hash_file(out / WEIGHTS),
        valid_loss=chosen.losses[chosen.name], valid_scores=state.valid_scores,
        limits=limits, finished=True, made_on=read_facts(out).made_on,
    )  # fmt: skip
    write_card(out, config, facts, run.train, run.valid, chosen.scores.get(chosen.name))
    write_facts(out, facts)
    tell_how_little(facts, tell)
    return facts


def prune_finished(folder: Path, step: int) -> None:
    """Delete the checkpoints of a run that finished at this step, but the newest and the best.

    A larger limit continues from these two, so the best is the one that the newest names. It comes after
    `finished` in run.json: until then a kill would make the end choose among other weights. A kill can come in
    between too, so the same command does it again.
    """
    path = folder / step_name(step)
    if list_checkpoints(folder)[:-1]:
        try:
            state = RunState.from_json(open_checkpoint(path).state, path / STATE)
        except ModelError:
            return  # damaged: nothing says which of the others is the best
        prune_checkpoints(folder, 1, best_steps(state, 1))


def tell_where(run: Run) -> None:
    """Say where the model is, how to try it, and how large the folder is."""
    out, sizes = run.request.out, measure_folder(run.request.out)
    run.request.tell(
        f"model in {out}: {sizes.model / 1e6:,.1f} MB; with what a longer run continues from, the folder has "
        f"{sizes.total / 1e6:,.1f} MB (`seqloom info {out}` says what may go). "
        f"Try: seqloom {TASKS[run.config.task.name].verb} {out}   or: seqloom evaluate {out} TEST"
    )


def choose_weights(
    folder: Path,
    state: RunState,
    config: TrainConfig,
    model: nn.Module,
    validation: Validation,
    metric: str,
    tell: Callable[[str], None],
) -> Chosen:
    """Load into the model the best of the last, the best and the averaged weights.

    "best" had the lowest validation loss. The three are compared by `metric` on all held-out data, and by their loss
    where no metric is named, or two have the same score.
    """
    candidates: dict[str, Any] = {"last": {name: tensor.clone() for name, tensor in model.state_dict().items()}}
    losses = {"last": state.valid_losses[state.step]}
    if state.best_step is not None and state.best_step != state.step:
        for best in open_good(folder, [state.best_step], tell):
            candidates["best"] = best.tensors("model")
            losses["best"] = state.valid_losses[state.best_step]
    averaged = open_good(folder, steps_to_average(folder, state, config), tell)
    if len(averaged) > 1:
        candidates["average"] = average_checkpoints(averaged)
        model.load_state_dict(candidates["average"])
        losses["average"] = validation.loss()
    scores = {}
    for candidate in candidates if metric else ():
        model.load_state_dict(candidates[candidate])
        scores[candidate] = validation.score(metric)
    sign = 1 if metric in METRICS and METRICS[metric].lower_is_better else -1

    def rank(candidate: str) -> tuple[float, float]:
        loss = losses[candidate]
        return sign * scores.get(candidate, 0.0), loss if math.isfinite(loss) else math.inf

    name = min(losses, key=rank)
    model.load_state_dict(candidates[name])
    return Chosen(name, losses, scores)


def open_good(folder: Path, steps: Sequence[int], tell: Callable[[str], None]) -> list[Checkpoint]:
    """Open these checkpoints; a damaged one is reported and skipped."""
    opened = []
    for step in steps:
        try:
            opened.append(open_checkpoint(folder / step_name(step)))
        except ModelError as error:
            tell(f"{error}. Left out of the final weights.")
    return opened


def write_model(out: Path, model: nn.Module, valid: Store) -> None:
    """Write model.safetensors, and golden.json: its outputs for a few held-out sources, to be checked later."""
    save_weights(model, out / WEIGHTS)
    sources = [pair.source for pair in valid.texts[:NUM_GOLDEN]]
    answering = load_answering([out], engine="torch")  # an engine of older weights may still lie there
    if isinstance(answering, GapFiller):
        sources = [with_a_gap(source) for source in sources]
    outputs = answering.translate(sources)
    golden = [{"source": source, "target": output} for source, output in zip(sources, outputs, strict=True)]
    replace_file(out / "golden.json", json.dumps(golden, ensure_ascii=False, indent=1).encode())


def write_fast_form(out: Path, tell: Callable[[str], None]) -> None:
    """Write engine/ for a model that has one. A failure costs speed, not the model: the torch engine answers then."""
    try:
        make_engine(out, tell=tell)
    except (ModelError, WriteError, OSError) as error:
        tell(f"no fast engine: {error}")


def write_card(
    out: Path, config: Config, facts: RunFacts, train: Store, valid: Store, score: float | None = None
) -> None:
    """Write card.md: what a person who gets this folder wants to know before using it; `score` chose the weights."""
    languages = " -> ".join(filter(None, (config.data.source_lang, config.data.target_lang))) or "not named"
    model, minutes = config.model, (facts.seconds or 0.0) / 60
    task = TASKS[config.task.name]
    records, learned = task.records, task.counted
    scores = ", ".join(f"{title_of(name)} {score:.2f}" for name, score in (facts.valid_scores or {}).items())
    measured = (
        f"the first {MOST_AT_A_GLANCE}" if task.form == "pairs" and len(valid) > MOST_AT_A_GLANCE else "all of them"
    )
    reason = (
        f"lowest validation loss, {facts.valid_loss:.4f}"
        if score is None
        else f"best {title_of(task.chosen_by)} on the validation data, {score:.2f}"
    )
    rows = {
        "Task": config.task.name,
        "Model": f"{model.kind}, {model.layers} layers, width {model.width}, {facts.params:,} parameters",
        **({"Begins from": config.train.init} if config.train.init else {}),
        "Languages": languages,
        "Training data": f"{', '.join(train.names)}: {train.account.kept:,} of {train.account.total:,} {records}",
        "Validation data": f"{', '.join(valid.names)}: {len(valid):,} {records}"
        + (", held out" if valid.held_out else ""),
        "Data hash": facts.data_hash,
        "Training": f"{facts.step:,} updates, {facts.tokens:,} {learned}, {minutes:.1f} minutes",
        "Weights": f"{facts.weights} ({reason})",
        **({"Validation": f"{scores} (last weights, {measured}; for orientation)"} if scores else {}),
        "Made": f"Seqloom {__version__}, {time.strftime('%Y-%m-%d')}, seed {config.train.seed}",
    }
    lines = [f"# {out.name}", "", "| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())]
    lines += [
        "", "Measure it on data it has not seen: `seqloom evaluate DIR TEST`.",
        "The licence of the training data applies; name it here before you pass the model on.", "",
    ]  # fmt: skip
    replace_file(out / "card.md", "\n".join(lines).encode())
