"""Engines as a stranger would put them into a model folder; shared by the tests of both kinds of engine."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from seqloom.errors import ModelError
from seqloom.runtime.engine_folder import origin
from seqloom.runtime.folder import open_run
from seqloom.runtime.translator import Translator


def add_engine(run: Path, name: str, files: dict[str, bytes]) -> None:
    """Give a run folder an engine whose manifest is right in everything."""
    shutil.rmtree(run / "engine", ignore_errors=True)
    (run / "engine").mkdir()
    for file, content in files.items():
        (run / "engine" / file).write_bytes(content)
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    manifest = {"format": 1, "engine": name, "made_from": origin(open_run(run)), "files": digests}
    (run / "engine" / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def engine_refused(folder: Path, engine: str) -> str:
    """The sentence for a folder whose engine is refused; by itself, torch must answer instead."""
    with pytest.raises(ModelError) as refused:
        Translator.load(folder, engine=engine)
    told: list[str] = []
    assert Translator.load(folder, notice=told.append).translate(["abc"])
    assert any("Until then the torch engine is used" in notice for notice in told)
    return str(refused.value)
