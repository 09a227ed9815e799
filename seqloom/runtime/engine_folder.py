"""engine/ of a run folder: the model converted for a fast engine, with a manifest that records what it was made from.

If the manifest does not match the weights, tokenizer and settings of the folder, or its own files, the engine is stale
or damaged: a notice names it, and the torch engine is used instead.
"""

import hashlib
import json
from collections.abc import Callable, Container
from dataclasses import asdict
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from seqloom.config import TASKS, Config, ModelConfig
from seqloom.errors import ModelError
from seqloom.files.durable import hash_file, write_new
from seqloom.files.folders import replaced_folder
from seqloom.files.reading import SETTINGS, check_regular, is_plain_name, read_json
from seqloom.runtime.folder import WEIGHTS, RunFolder

FOLDER, MANIFEST = "engine", "manifest.json"
FORMAT = 1
MAKE_AGAIN = "`seqloom export {folder} --format {format}` makes it again."


def why_not(config: Config) -> str:
    """Why a model cannot be converted for CTranslate2; empty if it can."""
    model = config.model
    if model.kind != "transformer":
        return f"CTranslate2 runs Transformers, but this model has model.kind = {model.kind}"
    if TASKS[config.task.name].shape != "writes":
        return f"CTranslate2 runs models that write a new text; this one was trained for {config.task.name!r}"
    return ""


def has_engine(folder: Path) -> bool:
    return (folder / FOLDER / MANIFEST).is_file()


class Manifest(Struct, frozen=True, kw_only=True):
    """manifest.json of an engine: its kind, what it was made from, and the SHA-256 of its files."""

    format: int = FORMAT
    engine: str  # ctranslate2 or onnx
    version: str | UnsetType = UNSET  # of the library that runs it
    precision: str | UnsetType = UNSET  # float32 or int8
    shortlist: int | UnsetType = UNSET
    made_from: dict[str, str]
    files: dict[str, str]


def read_manifest(run: RunFolder) -> Manifest:
    """Read the manifest of an engine; ModelError if the engine does not belong to the run as it is now."""
    engine = run.path / FOLDER
    again = MAKE_AGAIN.format(folder=run.path, format="onnx" if run.config.model.kind == "rnn" else "ctranslate2")
    try:
        manifest = msgspec.convert(read_json(engine / MANIFEST, SETTINGS), Manifest)
        for name in manifest.files:
            check_part(engine, name)
        refuse_strangers(engine, manifest.files)
        damaged = [name for name, digest in manifest.files.items() if hash_file(engine / name) != digest]
    except FileNotFoundError as error:
        raise ModelError(f"{error.filename}: missing. {again}") from None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ModelError(f"{engine / MANIFEST}: damaged ({error}). {again}") from None
    if manifest.format != FORMAT:
        raise ModelError(f"{engine}: written in format {manifest.format}, this Seqloom reads {FORMAT}. {again}")
    if manifest.made_from != origin(run):
        raise ModelError(f"{engine}: out of date: made from other weights, settings or another tokenizer. {again}")
    if damaged:
        raise ModelError(f"{engine / damaged[0]}: damaged: its content has changed. {again}")
    return manifest


def check_part(engine: Path, name: str) -> None:
    """Refuse a name in a manifest that is not one of a regular file in the engine's folder."""
    if not is_plain_name(name):
        raise ValueError(f"{name!r} is not the name of a file in this folder")
    check_regular(engine / name)


def refuse_strangers(engine: Path, listed: Container[str]) -> None:
    """Refuse a folder with a file that its manifest does not list: a library might read it."""
    strange = sorted(entry.name for entry in engine.iterdir() if not entry.name.startswith("."))
    if strange := [name for name in strange if name != MANIFEST and name not in listed]:
        raise ValueError(f"it does not list {strange[0]!r:.80}; remove that, or the whole folder")


def write_engine(
    run: RunFolder,
    write: Callable[[Path], None],
    *,
    engine: str,
    version: str | UnsetType = UNSET,
    precision: str | UnsetType = UNSET,
    shortlist: int = 0,
) -> Path:
    """Make engine/ from what `write` puts into an empty folder; it replaces an older one whole or not at all."""
    with replaced_folder(run.path / FOLDER) as new:
        write(new)
        manifest = Manifest(
            engine=engine, version=version, precision=precision, shortlist=shortlist or UNSET, made_from=origin(run),
            files={file.name: hash_file(file) for file in sorted(new.iterdir())},
        )  # fmt: skip
        write_new(new / MANIFEST, json.dumps(msgspec.to_builtins(manifest), indent=1) + "\n")
    return run.path / FOLDER


def origin(run: RunFolder) -> dict[str, str]:
    """Return what an engine depends on: the weights, both tokenizers, and the settings that define the model."""
    usual = asdict(ModelConfig())  # left out, so that settings added by a newer Seqloom make nothing stale
    unusual = {name: value for name, value in asdict(run.config.model).items() if value != usual[name]}
    settings = json.dumps([unusual, run.config.data.max_tokens], sort_keys=True)
    return {
        "weights": hash_file(run.path / WEIGHTS),
        "tokenizers": run.tokenizers.fingerprint,
        "settings": hashlib.sha256(settings.encode()).hexdigest(),
    }
