"""What a model folder holds, told without torch: settings, run, weights; and whether it still translates as it did."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from seqloom.errors import ModelError
from seqloom.models.shapes import read_shapes
from seqloom.runtime.folder import WEIGHTS, read_config, read_facts
from seqloom.runtime.members import NOT_TRANSLATORS


def describe(folder: Path) -> dict[str, Any]:
    """Everything `info --json` prints: run.json, the settings and what lies in the weight file."""
    config = read_config(folder)
    about = read_facts(folder)
    weights = folder / WEIGHTS
    if weights.exists():
        shapes = {name: list(shape) for name, shape in read_shapes(weights).items()}
        about["weight_file"] = {"bytes": weights.stat().st_size, "tensors": shapes}
    elif about.get("finished"):
        raise ModelError(f"{weights}: missing, though training has finished. Copy the whole folder again.")
    return {**about, "config": dataclasses.asdict(config)}


def render(folder: Path, about: dict[str, Any]) -> str:
    """The same for people: a name and a value a line."""
    config = about["config"]
    rows = {
        "model": describe_model(config["model"], config["task"]["name"]),
        "task": config["task"]["name"],
        "languages": " -> ".join(filter(None, (about.get("source_lang"), about.get("target_lang")))),
        "parameters": f"{about['params']:,}" if "params" in about else "",
        "vocabulary": f"{config['text']['tokenizer']}, {'joint' if config['text']['joint'] else 'one a side'}",
        "trained": describe_training(about),
        "data": describe_data(about),
        "weights": describe_weights(about),
        "made by": f"Seqloom {about['version']}" if "version" in about else "",
    }
    return "\n".join([str(folder), *(f"  {name:<11} {text}" for name, text in rows.items() if text)])


def describe_model(model: dict[str, Any], task: str) -> str:
    size = f"{model['layers']} layer{'s' * (model['layers'] > 1)}, width {model['width']}"
    if model["kind"] == "bag":
        return f"bag of words, width {model['embed_size'] or model['width']}"
    if model["kind"] == "rnn":
        attention = "" if task in NOT_TRANSLATORS else f", attention {model['attention']}"
        return f"rnn, cell {model['cell']}{attention}, {size}"
    return f"{model['kind']}, {size}, {model['heads']} heads"


def describe_training(about: dict[str, Any]) -> str:
    steps = f"{about.get('step', 0):,} updates"
    return steps if about.get("finished") else f"{steps}, not finished: the same `seqloom train` goes on"


def describe_data(about: dict[str, Any]) -> str:
    kept = f"{about['kept']:,} of {about['total']:,} pairs" if {"kept", "total"} <= about.keys() else ""
    return ", ".join(filter(None, (kept, f"hash {about['data_hash'][:12]}" if about.get("data_hash") else "")))


def describe_weights(about: dict[str, Any]) -> str:
    if "weight_file" not in about:
        return "none yet"
    size = f"{about['weight_file']['bytes'] / 1e6:,.1f} MB"
    return f"{about['weights']}, {size}" if "weights" in about else size


def check_golden(folder: Path) -> int:
    """Translate what golden.json holds; how many came out as they did at the end of training (all, or ModelError)."""
    golden = read_golden(folder / "golden.json")
    from seqloom.runtime.answering import load_answering  # torch takes seconds: first what is wrong without it

    got = load_answering([folder], engine="torch").translate([pair["source"] for pair in golden])
    wrong = [(pair, text) for pair, text in zip(golden, got, strict=True) if text != pair["target"]]
    if wrong:
        pair, text = wrong[0]
        raise ModelError(
            f"{folder}: {len(wrong)} of {len(golden)} golden sentences came out differently, first "
            f"{pair['source']!r}: {pair['target']!r} when trained, {text!r} now. The weights or the tokenizer changed."
        )
    return len(golden)


def read_golden(file: Path) -> list[dict[str, str]]:
    """[{"source": ..., "target": ...}, ...]"""
    try:
        golden = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read ({error}); it is written when training ends.") from None
    pairs: list[Any] = golden if isinstance(golden, list) else [None]
    if not all(
        isinstance(p, dict) and isinstance(p.get("source"), str) and isinstance(p.get("target"), str) for p in pairs
    ):
        raise ModelError(
            f"{file}: damaged: want a list of {{source, target}}, both texts. Copy the whole folder again."
        )
    return pairs
