"""run.json as a type: the facts of a run, with checks, because the file may come from a stranger."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from seqloom import __version__
from seqloom.errors import ModelError, has_controls
from seqloom.files.durable import replace_file
from seqloom.files.reading import SETTINGS, read_json

FILE = "run.json"
FORMAT = 1  # of run.json; a newer Seqloom writes a higher one


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run, in the order of the file; None = not (yet) in the file.

    A newer version may write more facts; unknown ones are ignored.
    """

    version: str | None = None  # of the Seqloom that wrote it
    params: int | None = None
    data_hash: str | None = None
    kept: int | None = None  # pairs of the training files that are used
    total: int | None = None  # all pairs of the training files
    source_lang: str | None = None
    target_lang: str | None = None
    usual_tokens: int | None = None  # 999 of 1000 training sources are at most this long
    capitals: float | None = None  # share of the sources in training that are written in capitals
    wordless: float | None = None  # share of the sources in training that have neither a letter nor a digit
    step: int | None = None
    epoch: int | None = None
    passes: float | None = None  # number of passes over the data, with the fraction of the last one
    tokens: int | None = None
    seconds: float | None = None
    weights: str | None = None  # last, best, average or imported
    weights_sha256: str | None = None  # of model.safetensors
    valid_loss: float | None = None
    valid_scores: dict[str, float] | None = None
    limits: dict[str, float] | None = None  # what ended the run: `training.run_end`
    finished: bool | None = None
    made_on: dict[str, str] | None = None  # what the last bits of the weights depend on: torch, processor, device
    measured: str | None = None  # models that are given away: scores with their test set, in words
    licence: str | None = None  # of the weights, with whom to name
    origin: str | None = None  # imported models: the folder it came from
    lacks: str | None = None  # imported models: the part that ours does not have
    left_out: str | None = None  # imported models: tensors that were not used

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "RunFacts":
        """The facts in a document that `read_document` has checked."""
        return cls(**{field.name: document[field.name] for field in fields(cls) if field.name in document})

    def to_json(self) -> dict[str, Any]:
        """Return the known facts, in the order of the file."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def kinds() -> dict[str, type]:
    """Return the type of each fact that is a plain value."""
    hints = {name: get_args(hint)[0] for name, hint in get_type_hints(RunFacts).items()}
    return {name: kind for name, kind in hints.items() if kind in (int, float, str, bool)}


KINDS = kinds()


def read_document(folder: Path) -> dict[str, Any]:
    """Read the whole of run.json, including what a newer version added; ModelError if it is damaged."""
    file = folder / FILE
    try:
        document = read_json(file, SETTINGS)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: damaged: {error}. Copy the whole folder again.") from None
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise ModelError(f'{file}: damaged: want a JSON object with "format". Copy the whole folder again.')
    if document["format"] > FORMAT:
        raise ModelError(
            f"{folder}: written by Seqloom {document.get('version', '?')} in format {document['format']}; "
            f"this Seqloom reads up to {FORMAT}. Update Seqloom."
        )
    for name, kind in KINDS.items():
        if name in document and not is_of(document[name], kind):
            got = json.dumps(document[name])[:40]
            raise ModelError(f"{file}: damaged: {name} = {got}, want {kind.__name__}. Copy the whole folder again.")
    for name in ("valid_scores", "limits"):
        scores = document.get(name, {})
        if not isinstance(scores, dict) or not all(is_of(score, float) for score in scores.values()):
            raise ModelError(f"{file}: damaged: {name}: want numbers by name. Copy the whole folder again.")
    machine = document.get("made_on", {})
    if not isinstance(machine, dict) or not all(
        is_of(value, str) and is_of(key, str) for key, value in machine.items()
    ):
        raise ModelError(f"{file}: damaged: made_on: want texts by name. Copy the whole folder again.")
    return document


def is_of(value: object, kind: type) -> bool:
    """Whether a JSON value has this type: True does not count as an int, but 3 counts as a float.

    No count is negative, and no text has control characters, which could change what a terminal shows.
    """
    if type(value) is int:
        return kind in (int, float) and 0 <= value < 2**63
    return type(value) is kind and not (isinstance(value, str) and has_controls(value))


def write_facts(folder: Path, facts: RunFacts) -> None:
    """Write run.json."""
    content = {"format": FORMAT, **replace(facts, version=__version__).to_json()}
    replace_file(folder / FILE, json.dumps(content, ensure_ascii=False, indent=1))
