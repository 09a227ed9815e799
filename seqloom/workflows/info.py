"""seqloom info: what a model folder holds, read without torch."""

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seqloom.config import SHAPES, TASKS, Config, ModelConfig
from seqloom.errors import ModelError
from seqloom.models.stored_shapes import read_shapes
from seqloom.runtime.bundled import find_model
from seqloom.runtime.checkpoints import FOLDER as CHECKPOINTS
from seqloom.runtime.checkpoints import newest_checkpoint, step_name
from seqloom.runtime.folder import WEIGHTS, read_config, read_facts, read_tokenizers
from seqloom.runtime.folder_sizes import MAY_GO, Sizes, measure_folder
from seqloom.runtime.run_facts import RunFacts, read_document

NAME_WIDTH = 14
CARD = "card.md"  # data, scores, limits: what a person should read before using a model


@dataclass(frozen=True)
class WeightFile:
    """The header of a weight file."""

    bytes: int
    tensors: dict[str, list[int]]  # the shape of each


@dataclass(frozen=True)
class About:
    """A model folder: run.json, the settings and the header of the weight file, which comes last."""

    facts: RunFacts
    document: dict[str, Any]  # run.json as it was read, also what a newer version added
    config: Config
    weight_file: WeightFile | None
    sizes: Sizes
    checkpoint: int | None = None  # the step of the newest good one, where training has not finished

    def to_json(self) -> dict[str, Any]:
        """Return what `info --json` prints."""
        weights = {"weight_file": asdict(self.weight_file)} if self.weight_file else {}
        stopped = {} if self.checkpoint is None else {"checkpoint": self.checkpoint}
        return {**self.document, **weights, **stopped, "bytes": self.sizes.parts, "config": asdict(self.config)}


def describe(folder: Path, say: Callable[[str], None] = warnings.warn) -> About:
    """Read a model folder; ModelError when a file of it is missing or damaged. `say` gets damaged checkpoints."""
    folder = find_model(folder)
    config, facts, weights = read_config(folder), read_facts(folder), folder / WEIGHTS
    header = None
    if weights.exists():
        shapes = {name: list(shape) for name, shape in read_shapes(weights).items()}
        read_tokenizers(folder)
        header = WeightFile(weights.stat().st_size, shapes)
    elif facts.finished:
        raise ModelError(f"{weights}: missing, though training has finished. Copy the whole folder again.")
    checkpoint = None if facts.finished else newest_checkpoint(folder / CHECKPOINTS, warn=say)
    sizes, step = measure_folder(folder), checkpoint.step if checkpoint else None
    return About(facts, read_document(folder), config, header, sizes, step)


def render(folder: Path, about: About) -> str:
    """Return the same for people: one line per name and value."""
    config, facts, card = about.config, about.facts, find_model(folder) / CARD
    rows = {
        "model": describe_model(config.model, config.task.name),
        "task": config.task.name,
        "languages": " -> ".join(filter(None, (facts.source_lang, facts.target_lang))),
        "parameters": "" if facts.params is None else f"{facts.params:,}",
        "vocabulary": f"{config.text.tokenizer}, {'joint' if config.text.joint else 'one per side'}",
        "trained": describe_training(folder, about),
        "trained on": "; ".join(f"{name} {value}" for name, value in (facts.made_on or {}).items()),
        "data": describe_data(facts),
        "weights": describe_weights(about),
        "measured": facts.measured or "",
        "licence": facts.licence or "",
        "card": str(card) if card.exists() else "",
        "made by": "" if facts.version is None else f"Seqloom {facts.version}",
        "on disk": f"{megabytes(about.sizes.total)}; {megabytes(about.sizes.model)} of it is what `translate` needs",
        **{f"  {name}/": f"{megabytes(about.sizes.parts[name])}, may go: {lost}" for name, lost in MAY_GO.items()},
    }
    absent = {f"  {name}/" for name in MAY_GO if not about.sizes.parts[name]}
    shown = {name: text for name, text in rows.items() if text and name not in absent}
    return "\n".join([str(folder), *(f"  {name:<{NAME_WIDTH}} {text}" for name, text in shown.items())])


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def describe_model(model: ModelConfig, task: str) -> str:
    size = f"{model.layers} layer{'s' * (model.layers > 1)}, width {model.width}"
    if model.kind == "bag":
        return f"bag of words, width {model.embed_size or model.width}"
    if model.kind == "rnn":
        attention = "" if not SHAPES[TASKS[task].shape].translates else f", attention {model.attention}"
        return f"rnn, cell {model.cell}{attention}, {size}"
    return f"{model.kind}, {size}, {model.heads} heads"


def describe_training(folder: Path, about: About) -> str:
    facts = about.facts
    if facts.finished or about.checkpoint is None:
        steps = "1 update" if facts.step == 1 else f"{facts.step or 0:,} updates"
        return steps if facts.finished else f"{steps}, not finished: the same `seqloom train` continues it"
    return (
        f"{about.checkpoint:,} updates ({CHECKPOINTS}/{step_name(about.checkpoint)}), not finished: the same "
        f"`seqloom train` continues it; `seqloom finish {folder}` makes a model from the last checkpoint"
    )


def describe_data(facts: RunFacts) -> str:
    kept = "" if facts.kept is None or facts.total is None else f"{facts.kept:,} of {facts.total:,} pairs"
    return ", ".join(filter(None, (kept, f"hash {facts.data_hash[:12]}" if facts.data_hash else "")))


def describe_weights(about: About) -> str:
    if about.weight_file is None:
        return "none yet" if about.checkpoint is None else "none yet; `seqloom translate` uses the checkpoint"
    size = megabytes(about.weight_file.bytes)
    if about.facts.finished is False:
        return f"{size}, of an earlier end of this run"
    return size if about.facts.weights is None else f"{about.facts.weights}, {size}"
