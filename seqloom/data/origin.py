"""The origin of a token store: the files by their content, the tokenizers and the settings that change the ids.

Equal origins give equal stores, so `data_hash` identifies the data of a run.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.lines import name_of
from seqloom.errors import UsageError
from seqloom.files.durable import hash_file
from seqloom.text.sides import Tokenizers

FORMAT = 1
VOLATILE = ("name", "size", "mtime_ns")  # they show that a file was not touched; its content is what counts
Hashes = Mapping[tuple[str, int, int], str]  # (name, size, time) -> SHA-256


def describe_origin(
    specs: Sequence[CorpusSpec],
    valid_specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    data_config: DataConfig,
    seed: int,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Describe the origin of the store that these would give.

    known: an older origin. Its hashes, and those that the corpora bring along, spare reading the files once more.
    """
    hashes = known_hashes(known or {})
    settings = {name: getattr(data_config, name) for name in ("normalise", "max_chars", "max_tokens")}
    if not valid_specs:
        settings |= {"valid_pairs": data_config.valid_pairs, "seed": seed}
    return {
        "format": FORMAT,
        "train": [describe_corpus(spec, hashes) for spec in specs],
        "valid": [describe_corpus(spec, hashes) for spec in valid_specs],
        "settings": settings,
        "tokenizers": tokenizers.fingerprint,
    }


def data_hash(origin: Mapping[str, Any]) -> str:
    """Compute the SHA-256 over everything but the names and times of the files."""
    return hashlib.sha256(json.dumps(without_volatile(origin), sort_keys=True).encode()).hexdigest()


def without_volatile(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {name: without_volatile(value) for name, value in part.items() if name not in VOLATILE}
    return [without_volatile(value) for value in part] if isinstance(part, list) else part


def describe_corpus(spec: CorpusSpec, known: Hashes) -> dict[str, Any]:
    """Describe one corpus: its files by their hashes, and how they are read."""
    hashes = {**known, **{(found.name, found.size, found.mtime_ns): found.sha256 for found in spec.hashes}}
    return {
        "name": spec.name,
        "format": spec.format,
        "columns": list(spec.columns),
        "weight": spec.weight,
        "files": [describe_file(file, hashes) for file in spec.files],
    } | describe_reading(spec)


def describe_reading(spec: CorpusSpec) -> dict[str, Any]:
    """Describe what is unusual in how the files are read: another form, encoding, line end or separator."""
    unusual: dict[str, Any] = {"form": spec.form} if spec.form != "pairs" else {}
    for name, usual in (("encoding", "utf-8"), ("line_end", "\n"), ("delimiter", "")):
        values = [getattr(found, name) for found in spec.found]
        if any(value != usual for value in values):
            unusual[name] = values
    return unusual


def describe_file(file: Path, hashes: Hashes) -> dict[str, Any]:
    """Describe one file; it is read only when no known hash fits its name, size and time."""
    try:
        now = file.stat()
        mark = (name_of(file.resolve()), now.st_size, now.st_mtime_ns)
        sha256 = hashes.get(mark) or hash_file(file)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
    return dict(zip(VOLATILE, mark, strict=True)) | {"sha256": sha256}


def known_hashes(origin: Mapping[str, Any]) -> Hashes:
    """Return the hashes in an older origin."""
    corpora = [*origin.get("train", ()), *origin.get("valid", ())]
    files = [file for corpus in corpora for file in corpus["files"]]
    return {tuple(file[name] for name in VOLATILE): file["sha256"] for file in files}
