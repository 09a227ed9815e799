"""A run folder as it comes from anywhere: every file is checked, and what is wrong is said in one sentence.

Reading settings, facts and tokenizers needs no torch; only `load_model` does.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import Config, build_config, read_toml
from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.text.sides import Tokenizers

if TYPE_CHECKING:
    from seqloom.models.api import Seq2Seq

FACTS = {
    "params": int, "step": int, "data_hash": str, "kept": int, "total": int, "finished": bool, "version": str,
    "source_lang": str, "target_lang": str, "weights": str, "lacks": str, "usual_tokens": int,
}  # fmt: skip  # what others read of run.json, where it is there
FORMAT = 1  # of run.json; a higher one was written by a newer Seqloom
WEIGHTS = "model.safetensors"
WHAT_IT_IS = "A model is the folder that `seqloom train --out` wrote."


@dataclass(frozen=True)
class RunFolder:
    """What a model folder says of itself; the weights stay on the disk until `load_model`."""

    path: Path
    config: Config
    tokenizers: Tokenizers
    facts: dict[str, Any]  # run.json: params, step, data_hash, ...


def open_run(path: Path) -> RunFolder:
    """The settings, tokenizers and facts of a finished run; ModelError when anything is missing or damaged."""
    config = read_config(path)
    facts = read_facts(path)
    check_finished(path, facts)
    return RunFolder(path, config, read_tokenizers(path), facts)


def read_config(path: Path) -> Config:
    file = path / "config.toml"
    if not file.is_file():
        raise ModelError(f"{path}: {why_no_model(path)} {WHAT_IT_IS}")
    try:
        return build_config(read_toml(file), where=str(file))
    except UsageError as error:  # the same words; in a model folder it is the folder that is wrong
        raise ModelError(str(error)) from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror}") from None


def why_no_model(path: Path) -> str:
    """What is wrong with a path that holds no config.toml, and which path was perhaps meant."""
    if path.is_file():
        inside = path.parent if (path.parent / "config.toml").is_file() else None
        return "a file, not a folder." + (f" Did you mean {str(inside)!r}?" if inside else "")
    if not path.exists():
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        return f"no such folder.{did_you_mean(path.name, siblings)}"
    for parent in list(path.resolve().parents)[:2]:  # checkpoints/step-00000500 of a run
        if (parent / "config.toml").is_file():
            return f"a part of a run. Did you mean {str(parent)!r}?"
    runs = sorted(str(file.parent) for file in path.glob("*/config.toml"))
    return f"no model itself, but it holds some: {', '.join(runs[:3])}." if runs else "no model here (no config.toml)."


def check_finished(path: Path, facts: dict[str, Any]) -> None:
    """The weights that `translate` uses are written when training ends."""
    if (path / WEIGHTS).is_file():
        return
    if facts.get("finished"):
        raise ModelError(f"{path}: {WEIGHTS} is missing. Copy the whole folder again, or train again.")
    steps = sorted((entry.name for entry in (path / "checkpoints").glob("step-*")), key=lambda name: (len(name), name))
    so_far = f", it has come to {steps[-1]}" if steps else ""
    raise ModelError(
        f"{path}: training has not finished (no {WEIGHTS} yet{so_far}): run the same `seqloom train` command again."
    )


def read_facts(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    try:
        facts = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        check_finished(path, {})  # a run that has just begun lacks both
        raise ModelError(f"{path}: run.json is missing. Copy the whole folder again.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: damaged: {error}. Copy the whole folder again.") from None
    if not isinstance(facts, dict) or not isinstance(facts.get("format"), int):
        raise ModelError(f'{file}: damaged: want a JSON object with "format". Copy the whole folder again.')
    if facts["format"] > FORMAT:
        raise ModelError(
            f"{path}: written by Seqloom {facts.get('version', '?')} in format {facts['format']}; "
            f"this Seqloom reads up to {FORMAT}. Update Seqloom."
        )
    for name, kind in FACTS.items():
        if name in facts and type(facts[name]) is not kind:  # a bool is an int to isinstance
            got = json.dumps(facts[name])[:40]
            raise ModelError(f"{file}: damaged: {name} = {got}, want {kind.__name__}. Copy the whole folder again.")
    return facts


def read_tokenizers(path: Path) -> Tokenizers:
    if not (path / "tokenizer").is_dir():
        raise ModelError(f"{path}: the folder tokenizer/ is missing. Copy the whole folder again.")
    try:
        return Tokenizers.load(path)
    except OSError as error:
        raise ModelError(f"{error.filename or path}: cannot be read: {error.strerror}") from None


def load_model(run: RunFolder) -> "Seq2Seq":
    """The model with its trained weights, ready to translate."""
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.shapes import read_shapes
    from seqloom.models.weights import check_shapes, load_weights, stored_tensors

    file = run.path / WEIGHTS
    found = read_shapes(file)
    settings = run.config.model
    # The settings are as untrusted as the weights: compare shapes before a wrong width takes all the memory.
    if settings.kind != "bag" and max(settings.layers, settings.decoder_layers) > len(found):
        raise ModelError(f"{file}: {len(found)} tensors cannot be the {settings.layers} layers of config.toml.")
    sizes = (run.config, len(run.tokenizers.source), len(run.tokenizers.target), run.tokenizers.joint)
    try:
        with torch.device("meta"):
            outline = build_model(*sizes)
        check_shapes({name: tuple(tensor.shape) for name, tensor in stored_tensors(outline).items()}, found, file)
        model = build_model(*sizes)
    except (RuntimeError, MemoryError, OverflowError) as error:
        raise ModelError(f"{run.path}: a model of these settings cannot be built: {error}") from None
    load_weights(model, file)
    return model.eval()
