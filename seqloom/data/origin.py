"""The origin of a token store: the files by their content, the tokenizers and the settings that change the ids.

Equal origins give equal stores, so `data_hash` identifies the data of a run.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.lines import FileHash, name_of, open_bytes
from seqloom.errors import DataError, UsageError
from seqloom.text.sides import Tokenizers

FORMAT = 1
VOLATILE = ("name", "size", "mtime_ns")  # they show that a file was not touched; its content is what counts


def describe_origin(
    specs: Sequence[CorpusSpec],
    valid_specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    data_config: DataConfig,
    seed: int,
) -> dict[str, Any]:
    """Describe the origin of the store that these would give; a file is read unless its corpus brings its hash."""
    settings = {name: getattr(data_config, name) for name in ("normalise", "max_chars", "max_tokens")}
    if not valid_specs:
        settings |= {"valid_pairs": data_config.valid_pairs, "seed": seed}
    return {
        "format": FORMAT,
        "train": [describe_corpus(spec) for spec in specs],
        "valid": [describe_corpus(spec) for spec in valid_specs],
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


def describe_corpus(spec: CorpusSpec) -> dict[str, Any]:
    """Describe one corpus: its files by their hashes, and how they are read."""
    hashes = {found.name: found for found in spec.hashes}
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


def describe_file(file: Path, known: Mapping[str, FileHash]) -> dict[str, Any]:
    """Describe one file; it is read unless it was hashed in this call. DataError if it has changed since."""
    found = known.get(name_of(file.resolve())) or hash_now(file)
    try:
        now = file.stat()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
    if (now.st_size, now.st_mtime_ns) != (found.size, found.mtime_ns):
        raise has_changed(file)
    return dict(zip(VOLATILE, found, strict=False)) | {"sha256": found.sha256}


def hash_now(file: Path) -> FileHash:
    """Hash a file that was not read yet."""
    found: list[FileHash] = []
    with open_bytes(file, found, unpack=False):
        pass  # what is not read is hashed at the end
    return found[0]


def with_hashes(specs: Sequence[CorpusSpec]) -> list[CorpusSpec]:
    """Return the corpora with the hashes of their files, which are read for it: size and time do not show a change."""
    return [replace(spec, hashes=tuple(hash_now(file) for file in spec.files)) for spec in specs]


def known_hashes(corpora: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the SHA-256 of each file of these corpora in an origin, by its name."""
    return {file["name"]: file["sha256"] for corpus in corpora for file in corpus["files"]}


def refuse_changed(read: Sequence[FileHash], known: Mapping[str, str]) -> None:
    """Refuse a file that was read with other bytes than those that were checked."""
    for found in read:
        if known.get(found.name, found.sha256) != found.sha256:
            raise has_changed(found.name)


def has_changed(file: Path | str) -> DataError:
    return DataError(f"{file}: has changed since it was checked. Wait until it is complete, then try again.")
