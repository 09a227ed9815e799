"""What a store was made from: the files by their content, the tokenizers and the settings that change the ids.

Equal origins give equal stores, so `data_hash` names the data of a run.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import UsageError
from seqloom.text.sides import Tokenizers

FORMAT = 1
VOLATILE = ("name", "size", "mtime_ns")  # tell a file that was not touched; the content is what counts


def describe_origin(
    specs: Sequence[CorpusSpec],
    valid_specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    data_config: DataConfig,
    seed: int,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The origin of the store that these would give; `known` is an older one, whose hashes spare reading the files."""
    marks = known_marks(known or {})
    settings = {name: getattr(data_config, name) for name in ("normalise", "max_chars", "max_tokens")}
    if not valid_specs:
        settings |= {"valid_pairs": data_config.valid_pairs, "seed": seed}
    return {
        "format": FORMAT,
        "train": [describe_corpus(spec, marks) for spec in specs],
        "valid": [describe_corpus(spec, marks) for spec in valid_specs],
        "settings": settings,
        "tokenizers": tokenizers.fingerprint,
    }


def data_hash(origin: Mapping[str, Any]) -> str:
    """SHA-256 over everything but the names and times of the files."""
    return hashlib.sha256(json.dumps(without_volatile(origin), sort_keys=True).encode()).hexdigest()


def without_volatile(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {name: without_volatile(value) for name, value in part.items() if name not in VOLATILE}
    return [without_volatile(value) for value in part] if isinstance(part, list) else part


def describe_corpus(spec: CorpusSpec, marks: Mapping[tuple[str, int, int], str]) -> dict[str, Any]:
    return {
        "name": spec.name,
        "format": spec.format,
        "columns": list(spec.columns),
        "weight": spec.weight,
        "files": [describe_file(file, marks) for file in spec.files],
    } | ({"form": spec.form} if spec.form != "pairs" else {})


def describe_file(file: Path, marks: Mapping[tuple[str, int, int], str]) -> dict[str, Any]:
    try:
        now = file.stat()
        mark = (str(file.resolve()), now.st_size, now.st_mtime_ns)
        sha256 = marks.get(mark) or hash_file(file)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
    return dict(zip(VOLATILE, mark, strict=True)) | {"sha256": sha256}


def known_marks(origin: Mapping[str, Any]) -> dict[tuple[str, int, int], str]:
    """(name, size, time) -> SHA-256 of the files of an older origin."""
    corpora = [*origin.get("train", ()), *origin.get("valid", ())]
    files = [file for corpus in corpora for file in corpus["files"]]
    return {tuple(file[name] for name in VOLATILE): file["sha256"] for file in files}


def hash_file(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
