"""A stopped run: its last checkpoint answers, `info` shows what is there, `finish` makes a model from it."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from seqloom.cli.app import main

Run = Callable[..., tuple[int, str, str]]


def stop_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """Ctrl-C in this step."""
    from seqloom.training.loop import Loop

    update = Loop.update

    def stop(loop: Loop) -> None:
        if loop.state.step == step - 1:
            os.kill(os.getpid(), signal.SIGINT)
        update(loop)

    patch.setattr(Loop, "update", stop)


@pytest.fixture(scope="module")
def made(tiny_pairs: Path, tiny_settings: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped by Ctrl-C after step 5: it holds the checkpoints of steps 3 and 5."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, 5)
        assert main(["train", str(tiny_pairs), "--out", str(folder), *tiny_settings]) == 130
    return folder


@pytest.fixture
def stopped(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def test_the_last_checkpoint_translates_with_a_notice(stopped: Path, call: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("abc\nfed\n")
    code, out, errors = call("translate", stopped, tmp_path / "in.txt")
    assert code == 0, errors
    assert len(out.splitlines()) == 2
    said = "training has not finished: these are the weights of step 5. The same `seqloom train` continues it, "
    assert f"{stopped}: {said}`seqloom finish {stopped}` makes a model from the last checkpoint.\n" == errors
    assert call("finish", stopped)[0] == 0
    assert json.loads((stopped / "run.json").read_text())["weights"] == "last"
    assert call("translate", stopped, tmp_path / "in.txt") == (0, out, "")  # the same weights


def test_a_damaged_checkpoint_is_passed_over(stopped: Path, call: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("abc\n")
    (stopped / "checkpoints" / "step-00000005" / "model.safetensors").write_bytes(b"rot")
    code, _, errors = call("translate", stopped, tmp_path / "in.txt")
    assert code == 0
    assert "step-00000005: damaged checkpoint skipped" in errors
    assert "the weights of step 3." in errors
    shutil.rmtree(stopped / "checkpoints" / "step-00000003")
    code, _, errors = call("translate", stopped, tmp_path / "in.txt")
    assert code == 4
    assert "training has not finished (no model.safetensors yet; the last checkpoint is step-00000005)" in errors
    code, _, errors = call("finish", stopped)
    assert code == 4
    assert "no good checkpoint to finish from. Run the same `seqloom train` command again." in errors


@pytest.mark.slow
def test_adapters_in_a_checkpoint_answer_too(
    tiny_pairs: Path, call: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    short = [
        "--recipe",
        "transformer-small",
        "--set",
        "train.threads=1",
        "--set",
        "train.max_steps=6",
        "--set",
        "data.valid_pairs=20",
    ]
    shape = ["model.layers=1", "model.width=16", "model.heads=2", "text.tokenizer=char", "text.vocab_size=300"]
    small = [word for setting in shape for word in ("--set", setting)]
    code, _, errors = call("train", tiny_pairs, "--out", tmp_path / "before", *short, *small)
    assert code == 0, errors
    stop_at(monkeypatch, 5)
    rank = ["--init", tmp_path / "before", "--set", "model.adapter_rank=2"]
    code, _, errors = call("train", tiny_pairs, "--out", tmp_path / "run", *short, *rank)
    assert code == 130, errors
    (tmp_path / "in.txt").write_text("abc\n")
    code, out, errors = call("translate", tmp_path / "run", tmp_path / "in.txt", "--scores")
    assert code == 0, errors
    assert call("finish", tmp_path / "run")[0] == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["weights"] == "last"
    again = call("translate", tmp_path / "run", tmp_path / "in.txt", "--scores", "--engine", "torch")[1]
    assert out == again


def test_a_stopped_language_model_writes_and_a_stopped_translator_scores(
    stopped: Path, tiny_pairs: Path, call: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Their notices are plain lines, not Python warnings with file and line."""
    said = "training has not finished: these are the weights of step 5. The same"
    code, out, errors = call("score", stopped, tiny_pairs)
    assert (code, len(out.splitlines())) == (0, 300)
    assert errors.startswith(f"{stopped}: {said}")
    (tmp_path / "text.txt").write_text(tiny_pairs.read_text().replace("\t", " "))
    small = "model.width=8 model.layers=1 model.heads=2 task.window=16 text.vocab_size=270 train.threads=1"
    settings = [word for setting in small.split() for word in ("--set", setting)]
    stop_at(monkeypatch, 5)
    words = ("train", tmp_path / "text.txt", "--task", "language", "--out", tmp_path / "gpt", *settings)
    assert call(*words)[0] == 130
    code, out, errors = call("generate", tmp_path / "gpt", "--tokens", 5)
    assert code == 0
    assert errors.startswith(f"{tmp_path / 'gpt'}: {said}")


def test_info_says_how_far_it_has_come(stopped: Path, call: Run) -> None:
    code, out, _ = call("info", stopped)
    assert code == 0
    assert "5 updates (checkpoints/step-00000005), not finished: the same `seqloom train` continues it; " in out
    assert f"`seqloom finish {stopped}` makes a model from the last checkpoint" in out
    assert "none yet; `seqloom translate` uses the checkpoint" in out
    assert json.loads(call("info", stopped, "--json")[1])["checkpoint"] == 5


def test_export_and_init_want_a_finished_run(stopped: Path, call: Run, tmp_path: Path) -> None:
    code, _, errors = call("export", stopped, "--format", "hf", "--out", tmp_path / "hf")
    assert code == 4
    assert f"or `seqloom finish {stopped}` to make a model from that" in errors


def test_finishing_writes_what_the_end_of_training_writes(stopped: Path, call: Run) -> None:
    code, _, errors = call("finish", stopped)
    assert code == 0
    assert "the model is made from step 5" in errors
    assert "The same `seqloom train` command can still continue the run, as if it had not been finished." in errors
    for name in ("model.safetensors", "golden.json", "card.md"):
        assert (stopped / name).is_file()
    assert call("info", stopped, "--check")[0] == 0
    code, _, errors = call("finish", stopped)
    assert (code, errors) == (0, f"{stopped}: finished at step 5; nothing to do.\n")


def test_what_cannot_be_finished_is_a_sentence(stopped: Path, call: Run, tmp_path: Path) -> None:
    code, _, errors = call("finish", tmp_path / "rum")
    assert code == 4
    assert "no such folder. Did you mean 'run'?" in errors
    assert not (tmp_path / "rum").exists()
    shutil.rmtree(stopped / "store")
    code, _, errors = call("finish", stopped)
    assert code == 4
    assert "only the same `seqloom train` command can finish the run" in errors


def test_a_finished_run_that_goes_on_keeps_its_model_until_the_next_end(stopped: Path, call: Run) -> None:
    call("finish", stopped)
    facts = json.loads((stopped / "run.json").read_text())
    (stopped / "run.json").write_text(json.dumps({**facts, "finished": False}))
    assert "MB, of an earlier end of this run\n" in call("info", stopped)[1]
