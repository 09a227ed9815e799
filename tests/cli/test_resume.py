"""Exact resume, by the command line: killed anywhere, the same command again, the same weights bit for bit."""

import json
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqloom.files.lock import run_lock
from tests.same_run import assert_same_run, timeless_log

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork")

KINDS = {"rnn": "bfloat16", "transformer": "float32"}  # each with a precision of its own
LAST = 24
RECIPE = f"""
[data]
max_tokens = 30
valid_pairs = 20
[text]
tokenizer = "char"
[model]
layers = 1
width = 16
heads = 2
dropout = 0.2
[train]
threads = 1
batch_tokens = 128
accumulate = 2
max_steps = {LAST}
valid_every = 9
save_every = 4
log_every = 1
average = 3
warmup = 5
"""
Start = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def start(launch: Callable[..., dict[str, Any]]) -> Start:
    """start(words, at="function", call=3, signal=9) -> (exit code, standard error)"""

    def give(words: list[str], signal: int = signal.SIGKILL, times: int = 1, **order: Any) -> tuple[int, str]:
        answer = launch(words, signal=signal, do=[["signal", signal, times]], **order)
        return answer["code"], answer["errors"]

    return give


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    file.write_text(RECIPE)
    return file


@pytest.fixture(scope="module")
def words_for(tiny_pairs: Path, recipe: Path) -> Callable[..., list[str]]:
    """words_for(kind, folder, *more): one command line, the same at every start."""

    def words(kind: str, folder: Path, *more: str) -> list[str]:
        plain = ["train", str(tiny_pairs), "--out", str(folder), "--recipe", str(recipe)]
        return [*plain, "--set", f"model.kind={kind}", "--set", f"train.precision={KINDS[kind]}", *more]

    return words


@pytest.fixture(scope="module")
def whole(seqloom: Any, words_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """whole(kind): the folder of a run that nobody disturbed, in a process of its own."""
    folders: dict[str, Path] = {}

    def train(kind: str) -> Path:
        if kind not in folders:
            folder = tmp_path_factory.mktemp(kind) / "whole"
            done = seqloom(*words_for(kind, folder))
            assert done.returncode == 0, done.stderr
            folders[kind] = folder
        return folders[kind]

    return train


def newest(run: Path) -> Path:
    return max((run / "checkpoints").glob("step-????????"))


# (function, call): the run dies just before that call of that function in that start
STAGES = (
    ("seqloom.training.tokenizers:learn_tokenizer", 1),
    ("seqloom.training.run:replace_file", 1),  # data ready, config.toml not yet
    ("seqloom.training.run:write_facts", 1),  # run.json not yet
    ("seqloom.training.loop:Loop.next_indices", 6),  # in the middle of an update
    ("seqloom.training.checkpoint:write_new", 2),  # weights written, optimizer not
    ("seqloom.training.checkpoint:write_new", 4),  # all written, manifest not
    ("seqloom.files.folders:sync_file", 2),  # all written, not on the disk
    ("seqloom.files.folders:put_in_place", 1),  # all written, not renamed
    ("seqloom.training.loop:prune_checkpoints", 1),
    ("seqloom.training.validation:Validation.loss", 1),
    ("seqloom.training.validation:Validation.loss", 2),
    ("seqloom.files.folders:shutil.rmtree", 5),  # pruning: renamed, not removed
    ("seqloom.training.finish:average_checkpoints", 1),
    ("seqloom.training.finish:save_weights", 1),
    ("seqloom.training.finish:write_facts", 1),  # the very last word: finished
    ("seqloom.training.finish:prune_checkpoints", 1),  # finished, but older checkpoints are still there
    ("seqloom.files.folders:shutil.rmtree", 1),  # finished, and the start that deletes them dies over the first
)


@pytest.mark.parametrize("kind", ["rnn", pytest.param("transformer", marks=pytest.mark.slow)])
def test_killed_at_every_stage(kind: str, start: Start, words_for: Any, whole: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for function, call in STAGES:
        code, errors = start(words_for(kind, run), at=function, call=call)
        assert code == -signal.SIGKILL, f"{function} was not called {call} times\n{errors}"
    code, errors = start(words_for(kind, run))
    assert code == 0, errors
    assert_same_run(run, whole(kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_at_random_moments(
    kind: str, kills: int, start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    draw = random.Random(kind)
    for step in sorted(draw.sample(range(1, LAST - 1), kills)):
        log = str(run / "metrics.jsonl")
        code, errors = start(words_for(kind, run), log=log, step=step, delay=draw.uniform(0, 0.05))
        assert code == -signal.SIGKILL, errors
    code, errors = start(words_for(kind, run))
    assert code == 0, errors
    assert "continuing after step" in errors
    assert_same_run(run, whole(kind))


def test_asked_to_stop_it_saves_within_a_step_and_goes_on(
    start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = words_for("rnn", run)
    code, errors = start(words, at="seqloom.training.loop:Loop.next_indices", call=12, signal=signal.SIGINT)
    assert code == 130, errors
    assert "saving, press Ctrl-C again to leave at once" in errors
    assert f"stopped after step 6, saved. `seqloom finish {run}` makes a model of what is there." in errors
    assert "The same command continues from there." in errors
    assert newest(run).name == "step-00000006"
    code, errors = start(words, at="seqloom.training.validation:Validation.loss", call=1, signal=signal.SIGTERM)
    assert code == 143, errors
    assert "continuing after step 6" in errors
    assert newest(run).name == "step-00000009"
    code, errors = start(words, at="seqloom.files.folders:put_in_place", call=1, signal=signal.SIGINT, times=2)
    assert code == 130, errors  # the second one leaves at once: nothing more is saved
    assert "stopped after" not in errors
    assert newest(run).name == "step-00000009"
    code, errors = start(words)
    assert code == 0, errors
    assert_same_run(run, whole("rnn"))


@pytest.mark.slow
def test_finished_where_it_stands_and_still_going_on_exactly(
    start: Start, seqloom: Any, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    """Killed at step 14, so the model comes from the checkpoint of step 12; the same command continues there."""
    run = tmp_path / "run"
    code, errors = start(words_for("transformer", run), at="seqloom.training.loop:Loop.update", call=15)
    assert code == -signal.SIGKILL
    before = {path: path.read_bytes() for path in (run / "checkpoints").rglob("*") if path.is_file()}
    log = (run / "metrics.jsonl").read_bytes()
    code, errors = start(["finish", str(run)])
    assert code == 0, errors
    assert f"{run}: the model is made from step 12" in errors
    assert "weights: " in errors
    assert {path: path.read_bytes() for path in (run / "checkpoints").rglob("*") if path.is_file()} == before
    assert (run / "metrics.jsonl").read_bytes() == log
    facts = json.loads((run / "run.json").read_text())
    assert (facts["step"], facts["finished"]) == (12, True)
    assert {path.name for path in run.iterdir()} == {path.name for path in whole("transformer").iterdir()}
    checked = seqloom("info", str(run), "--check")
    assert checked.returncode == 0, checked.stderr
    code, errors = start(["finish", str(run)])
    assert code == 0
    assert "finished at step 12; nothing to do" in errors
    code, errors = start(words_for("transformer", run))
    assert code == 0, errors
    assert "continuing after step 12" in errors
    assert_same_run(run, whole("transformer"))


def test_a_damaged_checkpoint_is_named_and_passed_over(
    start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = words_for("transformer", run)
    start(words, at="seqloom.training.loop:Loop.update", call=15)
    damaged = newest(run)
    assert damaged.name == "step-00000012"
    weights = (damaged / "model.safetensors").read_bytes()
    (damaged / "model.safetensors").write_bytes(weights[:1000])
    code, errors = start(words)
    assert code == 0, errors
    assert "step-00000012: damaged checkpoint skipped: model.safetensors has 1000 bytes" in errors
    assert "continuing after step 9" in errors
    kept = run / "checkpoints" / "step-00000012.damaged-1" / "model.safetensors"
    assert kept.read_bytes() == weights[:1000]
    assert_same_run(run, whole("transformer"))


def test_a_full_disk_keeps_the_last_checkpoint(start: Start, words_for: Any, whole: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = words_for("rnn", run)
    start(words, at="seqloom.training.loop:Loop.update", call=5)
    size = (newest(run) / "optimizer.safetensors").stat().st_size
    code, errors = start(words, largest_file=size - 1000)
    assert code == 5, errors
    assert "step-00000008: cannot be written: the disk is full" in errors
    assert "The last checkpoint, step-00000004, is kept" in errors
    assert "run the same command again" in errors
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000004"]
    code, errors = start(words)
    assert code == 0, errors
    assert "continuing after step 4" in errors
    assert_same_run(run, whole("rnn"))


def test_other_settings_and_other_data_are_refused_with_a_diff(
    start: Start, words_for: Any, tiny_pairs: Path, tmp_path: Path
) -> None:
    run, pairs = tmp_path / "run", tmp_path / "pairs.tsv"
    pairs.write_bytes(tiny_pairs.read_bytes())
    words = [str(pairs) if word == str(tiny_pairs) else word for word in words_for("rnn", run)]
    start(words, at="seqloom.training.loop:Loop.update", call=6)
    before = {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file() and path.name != "lock"}

    code, errors = start([*words, "--set", "model.width=32", "--set", "train.seed=9"])
    assert code == 2, errors
    assert "model.width: 16 there, 32 now" in errors
    assert "train.seed: 1 there, 9 now" in errors
    pairs.write_text(pairs.read_text() + "xyz\tzyx\n")
    code, errors = start(words)
    assert code == 2, errors
    assert "other data" in errors
    pairs.write_bytes(tiny_pairs.read_bytes())
    with run_lock(run):
        code, errors = start(words)
    assert code == 2, errors
    assert f"is using {run}; wait for it or choose another --out" in errors

    after = {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file() and path.name != "lock"}
    assert after == before


def test_a_finished_run_is_left_alone_until_its_limit_grows(
    start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    code, errors = start(words_for("rnn", run, "--set", "train.max_steps=16"))
    assert code == 0, errors
    weights, log = run / "model.safetensors", (run / "metrics.jsonl").read_bytes()
    made = weights.stat().st_mtime_ns
    code, errors = start(words_for("rnn", run, "--set", "train.max_steps=16"))
    assert code == 0, errors
    assert "finished at step 16; nothing to do" in errors
    assert weights.stat().st_mtime_ns == made
    assert (run / "metrics.jsonl").read_bytes() == log
    code, errors = start(words_for("rnn", run, "--set", f"train.max_steps={LAST + 4}"))
    assert code == 0, errors
    assert "continuing after step 16" in errors
    assert json.loads((run / "run.json").read_text())["step"] == LAST + 4


def test_a_run_by_the_clock_goes_on_in_the_time_left(start: Start, words_for: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = words_for("transformer", run, "--set", "train.max_steps=0", "--budget", "8s")
    code, _ = start(words, at="seqloom.training.loop:Loop.update", call=6)
    assert code == -signal.SIGKILL
    step, spent = (json.loads((newest(run) / "state.json").read_text())[name] for name in ("step", "seconds"))
    assert step == 4
    code, errors = start(words)
    assert code == 0, errors
    assert "continuing after step 4" in errors
    facts = json.loads((run / "run.json").read_text())
    assert facts["finished"]
    assert facts["step"] > 4
    assert spent < facts["seconds"] < 16  # on a free machine 8; a loaded one may be late, but not start anew
    steps = [event["step"] for event in timeless_log(run) if event["event"] == "train"]
    assert steps == list(range(1, facts["step"] + 1))


@pytest.mark.parametrize("kind", ["rnn", pytest.param("gpt", marks=pytest.mark.slow)])
def test_a_language_model_goes_on_in_the_middle_of_a_text(
    kind: str, start: Start, tiny_pairs: Path, recipe: Path, tmp_path: Path
) -> None:
    """Killed twice within an epoch; a recurrent network carries its state over."""
    text = tmp_path / "text.txt"
    text.write_text(tiny_pairs.read_text().replace("\t", " "))

    def words(folder: str) -> list[str]:
        settings = ["task.window=16", f"model.kind={kind}", "data.valid_pairs=40"]
        settings += ["model.cell=lstm"] if kind == "rnn" else []
        plain = ["train", str(text), "--task", "language", "--out", str(tmp_path / folder), "--recipe", str(recipe)]
        return [*plain, *(word for setting in settings for word in ("--set", setting))]

    code, errors = start(words("whole"))
    assert code == 0, errors
    for call in (15, 21):
        code, errors = start(words("run"), at="seqloom.training.loop:Loop.next_indices", call=call)
        assert code == -signal.SIGKILL, errors
    assert (newest(tmp_path / "run") / "task.safetensors").exists() == (kind == "rnn")
    code, errors = start(words("run"))
    assert code == 0, errors
    assert "continuing after step 12" in errors
    assert_same_run(tmp_path / "run", tmp_path / "whole")


READERS = {  # task: (model, what becomes of a word)
    "classify": ("rnn", lambda word: f"{word[0]}\t{word}"),
    "tag": ("rnn", lambda word: f"{' '.join(word)}\t{' '.join(word.upper())}"),
    "masked": ("transformer", lambda word: " ".join(word)),
}


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[] if task == "tag" else pytest.mark.slow) for task in READERS]
)
def test_readers_go_on_exactly(task: str, start: Start, tiny_pairs: Path, recipe: Path, tmp_path: Path) -> None:
    """What a masked model hides is drawn anew in each step, and after a kill the same again."""
    kind, line_of = READERS[task]
    words = [line.partition("\t")[0] for line in tiny_pairs.read_text().splitlines()]
    (tmp_path / "data.tsv").write_text("".join(f"{line_of(word)}\n" for word in words))

    def command(folder: str) -> list[str]:
        plain = ["train", str(tmp_path / "data.tsv"), "--task", task, "--out", str(tmp_path / folder)]
        return [*plain, "--recipe", str(recipe), "--set", f"model.kind={kind}"]

    code, errors = start(command("whole"))
    assert code == 0, errors
    for call in (15, 21):
        code, errors = start(command("run"), at="seqloom.training.loop:Loop.next_indices", call=call)
        assert code == -signal.SIGKILL, errors
    code, errors = start(command("run"))
    assert code == 0, errors
    assert "continuing after step 12" in errors
    assert_same_run(tmp_path / "run", tmp_path / "whole")
