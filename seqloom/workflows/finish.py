"""The end of training: choose the weights, write the model and what is said of it."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from seqloom import __version__
from seqloom.config import TASKS, Config
from seqloom.data.store import Store
from seqloom.errors import ModelError
from seqloom.evaluate.metrics import NAMES
from seqloom.models.weights import save_weights
from seqloom.runtime.answering import load_answering
from seqloom.runtime.gap_filler import GapFiller, with_a_gap
from seqloom.train.checkpoint import Checkpoint, average_checkpoints, open_checkpoint, step_name
from seqloom.train.durable import cannot_write, replace_file
from seqloom.train.loop import Loop, steps_to_average
from seqloom.workflows.export import make_engine
from seqloom.workflows.glance import MOST_AT_A_GLANCE
from seqloom.workflows.validation import Validation

NUM_GOLDEN = 5
RECORDS = {"pairs": "pairs", "labelled": "texts", "tagged": "texts", "text": "texts", "stream": "lines"}
LEARNED = {"classify": "labels", "tag": "tags", "masked": "hidden tokens", "language": "tokens", "denoise": "tokens"}


@dataclass(frozen=True)
class Chosen:
    """Which weights became the model."""

    name: str  # last, best or average
    losses: dict[str, float]  # validation loss of each candidate


def choose_weights(loop: Loop, model: nn.Module, validation: Validation, tell: Callable[[str], None]) -> Chosen:
    """Load into the model whichever of the last, the best and the averaged weights has the lowest validation loss."""
    state, config = loop.state, loop.config
    candidates: dict[str, Any] = {"last": {name: tensor.clone() for name, tensor in model.state_dict().items()}}
    losses = {"last": state.valid_losses[state.step]}
    if state.best_step is not None and state.best_step != state.step:
        for best in open_good(loop.folder, [state.best_step], tell):
            candidates["best"] = best.tensors("model")
            losses["best"] = state.valid_losses[state.best_step]
    averaged = open_good(loop.folder, steps_to_average(loop.folder, state, config), tell)
    if len(averaged) > 1:
        candidates["average"] = average_checkpoints(averaged)
        model.load_state_dict(candidates["average"])
        losses["average"] = validation.loss()
    name = min(losses, key=lambda candidate: losses[candidate] if math.isfinite(losses[candidate]) else math.inf)
    model.load_state_dict(candidates[name])
    return Chosen(name, losses)


def open_good(folder: Path, steps: Sequence[int], tell: Callable[[str], None]) -> list[Checkpoint]:
    """These checkpoints; a damaged one is named and passed over."""
    opened = []
    for step in steps:
        try:
            opened.append(open_checkpoint(folder / step_name(step)))
        except ModelError as error:
            tell(f"{error}. Left out of the final weights.")
    return opened


def write_model(out: Path, model: nn.Module, valid: Store) -> None:
    """model.safetensors and golden.json: what the model makes of a few held-out sources, to be checked later."""
    try:
        save_weights(model, out / "model.safetensors")
    except OSError as error:
        raise cannot_write(out / "model.safetensors", error) from error
    sources = [pair.source for pair in valid.texts[:NUM_GOLDEN]]
    answering = load_answering([out], engine="torch")  # an engine of older weights may still lie there
    if isinstance(answering, GapFiller):
        sources = [with_a_gap(source) for source in sources]
    outputs = answering.translate(sources)
    golden = [{"source": source, "target": output} for source, output in zip(sources, outputs, strict=True)]
    replace_file(out / "golden.json", json.dumps(golden, ensure_ascii=False, indent=1).encode())


def write_fast_form(out: Path, tell: Callable[[str], None]) -> None:
    """engine/ for a model that has one. Without it the torch engine answers: a failure costs time, not the model."""
    try:
        make_engine(out, tell=tell)
    except (ModelError, OSError) as error:
        tell(f"no fast engine: {error}")


def write_facts(out: Path, facts: dict[str, Any]) -> None:
    content = {"format": 1, "version": __version__, **facts}
    replace_file(out / "run.json", json.dumps(content, ensure_ascii=False, indent=1).encode())


def write_card(out: Path, config: Config, facts: dict[str, Any], train: Store, valid: Store) -> None:
    """card.md: what a person who gets this folder wants to know before using it."""
    languages = " -> ".join(filter(None, (config.data.source_lang, config.data.target_lang))) or "not named"
    model, minutes = config.model, facts["seconds"] / 60
    form = TASKS[config.task.name][0]
    records, learned = RECORDS[form], LEARNED.get(config.task.name, "target tokens")
    scores = ", ".join(f"{NAMES.get(name, name)} {score:.2f}" for name, score in facts["valid_scores"].items())
    measured = f"the first {MOST_AT_A_GLANCE}" if form == "pairs" and len(valid) > MOST_AT_A_GLANCE else "all of them"
    rows = {
        "Task": config.task.name,
        "Model": f"{model.kind}, {model.layers} layers, width {model.width}, {facts['params']:,} parameters",
        **({"Begins from": config.train.init} if config.train.init else {}),
        "Languages": languages,
        "Training data": f"{', '.join(train.names)}: {train.account.kept:,} of {train.account.total:,} {records}",
        "Validation data": f"{', '.join(valid.names)}: {len(valid):,} {records}"
        + (", held out" if valid.held_out else ""),
        "Data hash": facts["data_hash"],
        "Training": f"{facts['step']:,} updates, {facts['tokens']:,} {learned}, {minutes:.1f} minutes",
        "Weights": f"{facts['weights']} (lowest validation loss, {facts['valid_loss']:.4f})",
        **({"Validation": f"{scores} (last weights, {measured}; for orientation)"} if scores else {}),
        "Made": f"Seqloom {__version__}, {time.strftime('%Y-%m-%d')}, seed {config.train.seed}",
    }
    lines = [f"# {out.name}", "", "| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())]
    lines += [
        "", "Measure it on data it has not seen: `seqloom evaluate DIR TEST`.",
        "The licence of the training data applies; name it here before you pass the model on.", "",
    ]  # fmt: skip
    replace_file(out / "card.md", "\n".join(lines).encode())
