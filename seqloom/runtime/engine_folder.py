"""engine/ of a run folder: the model in the form of a fast engine, with a manifest that says what it was made from.

A manifest that does not fit the weights, the tokenizer and the settings beside it, or its own files, is stale or
damaged: it is named and passed over, and the torch engine answers.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seqloom.config import TASKS, Config, ModelConfig
from seqloom.errors import ModelError
from seqloom.runtime.folder import WEIGHTS, RunFolder

FOLDER, MANIFEST = "engine", "manifest.json"
FORMAT = 1
MAKE_AGAIN = "`seqloom export {folder} --format {format}` makes it again."


def why_not(config: Config) -> str:
    """Why a model has no CTranslate2 form; empty when it has one."""
    model = config.model
    if model.kind != "transformer":
        return f"CTranslate2 runs Transformers, and this model is of kind {model.kind}"
    if TASKS[config.task.name][0] != "pairs":
        return f"CTranslate2 runs models that write an output, and this one is to {config.task.name}"
    return ""


def has_engine(folder: Path) -> bool:
    return (folder / FOLDER / MANIFEST).is_file()


def read_manifest(run: RunFolder) -> dict[str, Any]:
    """The manifest of an engine that fits its run; ModelError says why it does not."""
    engine = run.path / FOLDER
    again = MAKE_AGAIN.format(folder=run.path, format="onnx" if run.config.model.kind == "rnn" else "ctranslate2")
    try:
        manifest = json.loads((engine / MANIFEST).read_text("utf-8"))
        format_, made_from, files = (manifest[name] for name in ("format", "made_from", "files"))
        damaged = [name for name, digest in files.items() if sha256(engine / name) != digest]
    except FileNotFoundError as error:
        raise ModelError(f"{error.filename}: missing. {again}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{engine / MANIFEST}: damaged ({error}). {again}") from None
    if format_ != FORMAT:
        raise ModelError(f"{engine}: written in format {format_}, this Seqloom reads {FORMAT}. {again}")
    if made_from != origin(run):
        raise ModelError(f"{engine}: stale, made from other weights, settings or another tokenizer. {again}")
    if damaged:
        raise ModelError(f"{engine / damaged[0]}: damaged, it is not what was written. {again}")
    return dict(manifest)


def write_engine(run: RunFolder, facts: dict[str, Any], write: Callable[[Path], None]) -> Path:
    """engine/ with what `write` puts into a folder, whole or not at all; the older one goes when this one is there."""
    part, engine = run.path / f".{FOLDER}.part-{os.getpid()}", run.path / FOLDER
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir()
        write(part)
        files = {file.name: sha256(file) for file in sorted(part.iterdir())}
        manifest = {"format": FORMAT, **facts, "made_from": origin(run), "files": files}
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
        shutil.rmtree(engine, ignore_errors=True)
        part.rename(engine)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return engine


@contextmanager
def restored_on_failure(folder: Path) -> Iterator[None]:
    """A new engine that is made and tried in here takes the place of the older one only if nothing goes wrong."""
    engine, before = folder / FOLDER, folder / f".{FOLDER}.before"
    shutil.rmtree(before, ignore_errors=True)
    if engine.exists():
        engine.rename(before)
    try:
        yield
    except BaseException:
        shutil.rmtree(engine, ignore_errors=True)
        if before.exists():
            before.rename(engine)
        raise
    shutil.rmtree(before, ignore_errors=True)


def origin(run: RunFolder) -> dict[str, str]:
    """What an engine depends on: the weights, both tokenizers, and the settings that shape the model."""
    usual = asdict(ModelConfig())  # left out, so that a setting which comes with a newer Seqloom makes nothing stale
    unusual = {name: value for name, value in asdict(run.config.model).items() if value != usual[name]}
    settings = json.dumps([unusual, run.config.data.max_tokens], sort_keys=True)
    return {
        "weights": sha256(run.path / WEIGHTS),
        "tokenizers": run.tokenizers.fingerprint,
        "settings": hashlib.sha256(settings.encode()).hexdigest(),
    }


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
