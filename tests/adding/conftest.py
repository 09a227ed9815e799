"""Shared by the tests of adding: a small corpus, and the ways in which a user meets a model."""

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SHORT = (
    *("model.width=16", "model.layers=1", "text.tokenizer=char", "train.max_steps=6", "train.valid_every=3"),
    *("train.save_every=3", "train.warmup=2", "train.average=1", "train.batch_tokens=512", "train.threads=1"),
    "data.valid_pairs=20",
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdef", k=draw.randint(2, 5))) for _ in range(200)]
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{word}\t{word[::-1]}\n" for word in words), "utf-8")
    return file


@pytest.fixture
def through_every_verb(pairs: Path, tmp_path: Path) -> Callable[..., SimpleNamespace]:
    """Train, resume, evaluate, load, translate, explain, export and serve a model of these settings."""

    def run(*settings: str, task: str | None = None) -> SimpleNamespace:
        import seqloom
        from seqloom.cli.app import main
        from seqloom.workflows.evaluate import evaluate

        out = tmp_path / "run"
        seqloom.train(pairs, out=out, overrides=[*SHORT, *settings], task=task, quiet=True)
        seqloom.train(pairs, out=out, overrides=[*SHORT, *settings, "train.max_steps=8"], task=task, quiet=True)
        report = evaluate(out, str(pairs), say=lambda text: None)
        model: Any = seqloom.load(out)
        assert isinstance(model.translate("abc"), str)
        assert main(["info", str(out), "--check"]) == 0
        assert main(["translate", str(out), str(pairs)]) == 0
        return SimpleNamespace(folder=out, report=report, model=model, served=serve(out, "abc"))

    return run


def serve(folder: Path, text: str) -> str:
    """The translation that a client of the server gets."""
    from starlette.testclient import TestClient

    from seqloom.serve.app import build_app
    from seqloom.serve.service import Service
    from seqloom.workflows.serve import load_pair

    service = Service([load_pair(str(folder), threads=1)])
    with TestClient(build_app(service), base_url="http://127.0.0.1") as client:
        answer = client.post("/v1/translate", json={"q": text})
    assert answer.status_code == 200, answer.text
    return str(answer.json())
