"""`train --out`: what it refuses to write into, what a refusal leaves behind, and what the end of a run keeps."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("names", [["notes.txt"], ["a", "b", "c", "d"], ["config.toml"], ["notes.txt", "lock"]])
def test_a_folder_with_other_files_is_refused(
    names: list[str], call: Run, tiny_pairs: Path, tiny_settings: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    for name in names:
        (out / name).write_text("mine")
    code, _, errors = call("train", tiny_pairs, "--out", out, *tiny_settings)
    assert code == 2
    shown = {"a": "a, b, c ..."}.get(names[0], names[0])
    assert f"--out {out}: holds other files ({shown}) and no run. Name a new or empty folder." in errors
    assert {entry.name: entry.read_text() for entry in out.iterdir()} == dict.fromkeys(names, "mine")


@pytest.mark.parametrize("there", [[], ["lock", "config.toml", ".saving-store", ".run.json.part"]])
def test_an_empty_folder_and_one_of_a_run_that_was_killed_early_are_taken(
    there: list[str], call: Run, tiny_pairs: Path, tiny_settings: list[str], tmp_path: Path
) -> None:
    for name in there:
        (tmp_path / name).mkdir() if "store" in name else (tmp_path / name).write_text("")
    code, _, errors = call("train", tiny_pairs, "--out", tmp_path, *tiny_settings)
    assert code == 0, errors


def test_a_gpt_is_refused_for_labels_before_the_data_is_read_and_leaves_nothing(
    call: Run, tiny_pairs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(tiny_pairs.read_text().replace("\t", " "))
    small = ["model.width=16", "model.layers=1", "model.heads=2", "task.window=16", "text.vocab_size=270"]
    small += ["train.max_steps=1", "train.threads=1"]
    settings = [word for setting in small for word in ("--set", setting)]
    code, _, errors = call("train", text, "--task", "language", "--out", tmp_path / "gpt", *settings)
    assert code == 0, errors
    monkeypatch.setattr("seqloom.training.run.gather_data", lambda *_: pytest.fail("the data was read"))
    words = ("--task", "classify", "--init", tmp_path / "gpt", "--out", tmp_path / "x")
    code, _, errors = call("train", tiny_pairs, *words)
    assert code == 2
    assert f"--init {tmp_path / 'gpt'}: none of its matrices fits a model of kind" in errors
    assert "for the task 'classify'. It is of kind 'gpt', whose layers differ from those of" in errors
    assert "Start from another model, or leave --init out." in errors
    assert not (tmp_path / "x").exists()


def test_a_late_refusal_leaves_nothing_but_a_begun_run_stays(
    call: Run, tiny_pairs: Path, tiny_settings: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from seqloom.errors import UsageError
    from seqloom.training import run

    def refuse(*_: object) -> None:
        raise UsageError("too late")

    command = ("train", tiny_pairs, "--out", tmp_path / "new" / "run", *tiny_settings)
    with monkeypatch.context() as patch:
        patch.setattr(run, "make_loop", refuse)  # data, tokenizer, settings and run.json are written
        assert call(*command)[0] == 2
    assert not (tmp_path / "new").exists()
    with monkeypatch.context() as patch:
        patch.setattr(run, "complete", refuse)
        assert call(*command)[0] == 2
    assert (tmp_path / "new" / "run" / "checkpoints" / "step-00000006").is_dir()
    code, _, errors = call(*command)
    assert code == 0
    assert "continuing after step 6" in errors


def test_the_end_keeps_what_a_longer_run_needs_and_says_how_large_the_folder_is(
    call: Run, tiny_pairs: Path, tiny_settings: list[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    command = ["train", tiny_pairs, "--out", run, *tiny_settings, "--set", "train.save_every=1"]
    code, _, errors = call(*command)
    assert code == 0
    steps = {path.name for path in (run / "checkpoints").iterdir()}
    assert "step-00000006" in steps
    assert len(steps) <= 2  # the last and the best
    assert f"model in {run}: " in errors
    assert f"(`seqloom info {run}` says what may go)" in errors
    _, out, _ = call("info", run)
    sizes = json.loads(call("info", run, "--json")[1])["bytes"]
    assert sum(sizes.values()) == sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    assert f"{sum(sizes.values()) / 1e6:,.1f} MB; {sizes['model'] / 1e6:,.1f} MB of it is what `translate` needs" in out
    assert "checkpoints/" in out
    assert "may go: then the run cannot continue" in out
    assert "engine/" not in out  # a recurrent model has none
    code, _, errors = call(*command, "--set", "train.max_steps=8")
    assert code == 0, errors
    assert "continuing after step 6" in errors
    assert "damaged" not in errors
