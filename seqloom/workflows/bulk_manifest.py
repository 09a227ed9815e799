"""The manifest of a bulk command: fingerprints of everything that decides the bytes of its output.

A bulk command that continues compares it with the manifest of the chunks that are there (`scale/chunk_folder.py`), and
every worker compares its model folder with the fingerprints that the command started with.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from seqloom.errors import ModelError
from seqloom.files.durable import hash_file
from seqloom.runtime.folder import RunFolder, check_hash, open_latest

LIBRARIES = ("seqloom", "torch", "ctranslate2", "tokenizers", "onnxruntime")


@dataclass(frozen=True)
class ModelFiles:
    """A model folder and the SHA-256 of the files that decide its answers."""

    folder: Path
    digests: tuple[tuple[str, str], ...]


def models_of(runs: Sequence[RunFolder]) -> tuple[ModelFiles, ...]:
    """The models with their fingerprints; weights that changed are refused before anything is written."""
    for run in runs:
        check_hash(run)
    return tuple(ModelFiles(run.path.resolve(), digests_of(run)) for run in runs)


def digests_of(run: RunFolder) -> tuple[tuple[str, str], ...]:
    files = [run.path / "config.toml", run.path / "run.json", run.weights]
    files += [file for part in ("tokenizer", "engine") for file in (run.path / part).glob("*") if file.is_file()]
    return tuple((str(file.relative_to(run.path)), hash_file(file)) for file in sorted(files) if file.is_file())


def same_models(models: Sequence[ModelFiles]) -> list[Path]:
    """The folders of the models; a ModelError in a worker that finds another model there, e.g. on another machine."""
    for model in models:
        here = digests_of(open_latest(model.folder, lambda message: None))
        if here != model.digests:
            other = sorted({name for name, _ in {*here} ^ {*model.digests}})
            raise ModelError(
                f"{model.folder} on {socket.gethostname()}: not the model that this command started with: "
                f"{', '.join(other)} differ. Copy the same folder to every machine, and leave it unchanged meanwhile."
            )
    return [model.folder for model in models]


def describe_job(
    command: str, runs: Sequence[RunFolder], given: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """The manifest: everything that decides the bytes of the output, and nothing else."""
    return {
        "format": 1,
        "command": command,
        "input": given,
        "model": {str(place): dict(digests_of(run)) for place, run in enumerate(runs, 1)},
        "options": {name: value for name, value in sorted(options.items()) if value is not None},
        "versions": {name: installed for name in LIBRARIES if (installed := version_of(name))},
    }


def version_of(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
