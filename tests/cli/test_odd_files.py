"""Files as people export them: `doctor` names what each is, `train` reads it rightly or refuses it with the way out."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.cli.app import main
from seqloom.config import TASKS
from seqloom.data.corpus import CorpusSpec, Pair, ReadAs, read_rows
from seqloom.data.store import Store
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.training.run import known_facts
from tests.odd_files import ODD_FILES, Odd, Pairs, write_odd_files

SETTINGS = (
    "model.kind=rnn", "model.width=8", "model.layers=1", "train.max_steps=1", "train.schedule=constant",
    "text.tokenizer=char", "text.vocab_size=300", "data.valid_pairs=5",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    write_odd_files(folder)
    (folder / "empty.toml").touch()
    return folder


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """A command line in this process; `train` stops when its data is ready."""
    monkeypatch.chdir(folder)
    threads = torch.get_num_threads()

    def begin(run: Any, began: float, stop: Any) -> RunFacts:
        facts = replace(known_facts(run, 0), step=0, finished=False)
        write_facts(run.request.out, facts)
        return facts

    monkeypatch.setattr("seqloom.training.run.train_model", begin)

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        code = main([str(word) for word in words])
        done = subprocess.CompletedProcess(words, code, *capfd.readouterr())
        assert "Traceback" not in done.stderr
        return done

    yield run
    torch.set_num_threads(threads)


def pairs_of(name: str, options: tuple[str, ...]) -> list[tuple[str, str]]:
    """The pairs that every command reads with these options."""
    given = dict(zip(options[::2], options[1::2], strict=True))
    read_as = ReadAs(given.get("--columns"), given.get("--delimiter"), given.get("--encoding"))
    spec = CorpusSpec.parse(name, read_as, form=TASKS[given.get("--task", "translate")].form)
    return [(row.source, row.target) for row in read_rows(spec) if isinstance(row, Pair)]


def train(call, name: str, out: Path, options: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    chosen = SETTINGS
    if "classify" in options:
        chosen = ("model.kind=bag", *(one for one in SETTINGS if not one.startswith(("model", "text.tok"))))
    settings = [word for setting in chosen for word in ("--set", setting)]
    return call("train", name, "--out", out, "--recipe", "empty.toml", *settings, *options)


def read_rightly(call, name: str, out: Path, options: tuple[str, ...], pairs: Pairs) -> None:
    assert pairs_of(name, options) == list(pairs)
    done = train(call, name, out, options)
    assert done.returncode == 0, done.stderr
    assert f"kept {len(pairs)} of {len(pairs)} pairs" in done.stderr
    assert "reads " in done.stderr
    assert len(Store.open(out / "store", "train")) == len(pairs) - 5


@pytest.mark.parametrize("name", ODD_FILES)
def test_an_odd_file_is_named_and_read_rightly_or_refused(name: str, call, tmp_path: Path) -> None:
    odd = ODD_FILES[name]
    told = call("doctor", name, *odd.options)
    text = told.stdout + told.stderr
    assert [words for words in odd.says if words not in text] == [], text
    if odd.pairs is not None:
        assert told.returncode == 0, text
        read_rightly(call, name, tmp_path / "run", odd.options, odd.pairs)
    else:
        assert told.returncode in (2, 3), text
        refused = train(call, name, tmp_path / "run", odd.options)
        assert refused.returncode == told.returncode, refused.stderr
        assert [words for words in odd.says if words not in refused.stderr] == [], refused.stderr
    if odd.repaired:
        read_rightly(call, name, tmp_path / "repaired", (*odd.options, *odd.repaired), odd.repaired_pairs)


def test_there_are_enough_of_them() -> None:
    assert len(ODD_FILES) >= 30
    assert all(isinstance(odd, Odd) and odd.says for odd in ODD_FILES.values())
