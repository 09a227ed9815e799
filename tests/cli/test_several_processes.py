"""Training on several processes: the same weights bit for bit, killed anywhere, continued with any other number."""

import gzip
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqloom.files.durable import hash_file
from tests.same_run import assert_same_run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork")

LAST = 12
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
accumulate = 3
max_steps = {LAST}
valid_every = 5
save_every = 3
log_every = 1
average = 2
warmup = 5
"""
KINDS = {  # name: (task, what becomes of a pair of words, settings)
    "rnn": ("translate", "{0}\t{1}", ("model.kind=rnn", "train.scheduled_sampling=0.3")),
    "transformer": ("translate", "{0}\t{1}", ("model.kind=transformer", "train.precision=bfloat16")),
    "language": ("language", "{0} {1}", ("model.kind=rnn", "model.cell=lstm", "task.window=8", "data.valid_pairs=60")),
    "classify": ("classify", "{2}\t{0}", ("model.kind=rnn",)),
}
Start = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def start(launch: Start) -> Start:
    """start(words, world=2, rank=1, at="function", call=3, signal=9) -> the answer of tests/launcher.py"""

    def give(words: list[str], signal: int = signal.SIGKILL, times: int = 1, **order: Any) -> dict[str, Any]:
        return launch(words, signal=signal, do=[["signal", signal, times]], **order)

    return give


@pytest.fixture(scope="module")
def words_for(tiny_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """words_for(kind, folder, *more): one command line, the same for any number of processes."""
    place = tmp_path_factory.mktemp("several")
    (place / "tiny.toml").write_text(RECIPE)
    pairs = [line.split("\t") for line in tiny_pairs.read_text().splitlines()]

    def words(kind: str, folder: Path, *more: str) -> list[str]:
        task, shape, settings = KINDS[kind]
        file = place / f"{kind}.tsv"
        file.write_text("".join(f"{shape.format(*pair, 'long' if len(pair[0]) > 4 else 'short')}\n" for pair in pairs))
        plain = ["train", str(file), "--out", str(folder), "--task", task, "--recipe", str(place / "tiny.toml")]
        return [*plain, *(word for setting in (*settings, *more) for word in ("--set", setting))]

    return words


@pytest.fixture(scope="module")
def whole(start: Start, words_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """whole(kind): the folder of a run in one process."""
    folders: dict[str, Path] = {}

    def train(kind: str) -> Path:
        if kind not in folders:
            folders[kind] = tmp_path_factory.mktemp(kind) / "whole"
            done = start(words_for(kind, folders[kind]))
            assert done["code"] == 0, done["errors"]
        return folders[kind]

    return train


@pytest.fixture(scope="module")
def cut(tiny_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The pairs in three files, one of them packed."""
    place = tmp_path_factory.mktemp("cut")
    lines = tiny_pairs.read_bytes().splitlines(keepends=True)
    third = len(lines) // 3
    (place / "a.tsv").write_bytes(b"".join(lines[:third]))
    (place / "b.tsv.gz").write_bytes(gzip.compress(b"".join(lines[third : 2 * third])))
    (place / "c.tsv").write_bytes(b"".join(lines[2 * third :]))
    return [str(place / name) for name in ("a.tsv", "b.tsv.gz", "c.tsv")]


def weights_of(run: Path) -> str:
    return hash_file(run / "model.safetensors")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "rnn" else pytest.mark.slow) for kind in KINDS]
)
@pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_any_number_of_processes_makes_the_same_weights(
    kind: str, world: int, start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    """Three parts per step: two processes compute two and one of them."""
    done = start(words_for(kind, tmp_path / "run"), world=world)
    assert done["codes"] == [0] * world, done["errors"]
    assert done["errors"].count("training ends after step") == 1  # one process talks
    assert_same_run(tmp_path / "run", whole(kind))


def test_two_processes_killed_twice(start: Start, words_for: Any, whole: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    log = str(run / "metrics.jsonl")
    for rank, step in ((1, 4), (0, 8)):
        died = start(words_for("rnn", run), world=2, rank=rank, log=log, step=step, delay=0.01)
        assert died["code"] == -signal.SIGKILL, died["errors"]
        assert died["codes"][1 - rank] == 5, died["errors"]
        assert "lost the others: one has ended" in died["errors"]
        assert "is kept. The same command continues from there, with any number of processes" in died["errors"]
    done = start(words_for("rnn", run), world=2)
    assert done["codes"] == [0, 0], done["errors"]
    assert_same_run(run, whole("rnn"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_moments_and_continued_with_other_numbers(
    kind: str, start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    """1 -> 3 -> 2 -> 1 -> 3 -> 2 processes, one of them killed each time: 24 kills over all kinds."""
    run = tmp_path / "run"
    draw = random.Random(kind)
    steps = sorted(draw.sample(range(1, LAST - 1), 6))
    for world, step in zip((1, 3, 2) * 2, steps, strict=True):
        order = {"log": str(run / "metrics.jsonl"), "step": step, "delay": draw.uniform(0, 0.05)}
        died = start(words_for(kind, run), world=world, rank=draw.randrange(world), **order)
        assert died["code"] == -signal.SIGKILL, died["errors"]
    done = start(words_for(kind, run), world=2)
    assert done["codes"] == [0, 0], done["errors"]
    assert_same_run(run, whole(kind))


@pytest.mark.parametrize("world", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_store_in_shards_makes_the_weights_of_one_in_one_piece(
    world: int, start: Start, words_for: Any, whole: Any, cut: list[str], tmp_path: Path
) -> None:
    """The processes share the building of the shards; the last one is killed while it builds its first."""
    run = tmp_path / "run"
    first, file, *more = words_for("rnn", run)
    words = [first, *cut, *more]
    died = start(words, world=world, rank=world - 1, at="seqloom.data.store_builder:write_shard", call=1)
    assert died["code"] == -signal.SIGKILL, died["errors"]
    assert died["codes"][0] in (5, -signal.SIGKILL), died["errors"]
    kept = sorted(entry.name for entry in (run / "store-building").glob("*-*"))
    assert kept == ["train-00000", "train-00001"][: world - 1]
    done = start(words, world=world)
    assert done["codes"] == [0] * world, done["errors"]
    assert (f"encoding: {world - 1} of 3 shards are there already" in done["errors"]) == (world > 1)
    assert len(list((run / "store" / "train").glob("source*.ids"))) == 3
    assert not (run / "store-building").exists()
    assert weights_of(run) == weights_of(whole("rnn")), file
    again = start(words)
    assert again["code"] == 0 and "nothing to do" in again["errors"], again["errors"]


def test_a_signal_to_any_process_stops_all_with_one_checkpoint(
    start: Start, words_for: Any, whole: Any, tmp_path: Path
) -> None:
    """torchrun passes a Ctrl-C on to processes that had it already: the second one must not end them at once."""
    run = tmp_path / "run"
    stopped = start(
        words_for("rnn", run), world=2, rank=1, at="seqloom.training.loop:Loop.update", call=5, signal=signal.SIGINT,
        times=2,
    )  # fmt: skip
    assert stopped["codes"] == [130, 130], stopped["errors"]
    assert stopped["errors"].count("stopped after step 5, saved.") == 1
    assert (run / "checkpoints" / "step-00000005").is_dir()
    done = start(words_for("rnn", run), world=1)
    assert done["code"] == 0, done["errors"]
    assert_same_run(run, whole("rnn"))
    again = start(words_for("rnn", run), world=2)
    assert again["codes"] == [0, 0], again["errors"]
    assert again["errors"].count(f"finished at step {LAST}; nothing to do") == 1


def test_more_processes_than_parts_are_refused(start: Start, words_for: Any, tmp_path: Path) -> None:
    refused = start(words_for("rnn", tmp_path / "run", "train.accumulate=1"), world=2)
    assert refused["codes"] == [2, 5], refused["errors"]
    assert "lost the others" not in refused["errors"]
    assert refused["errors"].count("2 processes, but a step has only 1 to share out (train.accumulate = 1)") == 1
    assert "--set train.accumulate=2; --set train.batch_tokens=64 as well" in refused["errors"]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [["ladder", "pairs.tsv"], ["translate", "model"], ["doctor", "pairs.tsv"]])
def test_other_commands_are_refused_under_torchrun(words: list[str], start: Start) -> None:
    refused = start(words, world=2)
    assert refused["codes"] == [2, 2], refused["errors"]
    assert f"{words[0]}: torchrun has started 2 processes" in refused["errors"]
    assert ("--workers" in refused["errors"]) == (words[0] == "translate")
    one = start([words[0], "--help"], environment={"RANK": "0", "WORLD_SIZE": "1"})
    assert one["code"] == 0, one["errors"]


def test_a_run_that_moves_to_another_machine_says_so(start: Start, words_for: Any, whole: Any, tmp_path: Path) -> None:
    """Another processor, as far as the program can see: a notice, no refusal, and a record in run.json."""
    run = tmp_path / "run"
    stop = {"at": "seqloom.training.loop:Loop.update", "call": 5, "signal": signal.SIGINT}
    assert start(words_for("rnn", run), **stop)["code"] == 130
    began = json.loads((run / "run.json").read_text())["made_on"]
    assert began.keys() == {"torch", "kind of processor", "device"}
    moved = start(words_for("rnn", run), other="seqloom.training.same_everywhere:processor_name")
    assert moved["code"] == 0, moved["errors"]
    assert "this run began on another machine or with another torch:\n  kind of processor: " in moved["errors"]
    assert "the weights may differ in their last bits" in moved["errors"]
    ended = json.loads((run / "run.json").read_text())["made_on"]
    assert ended["torch"] == began["torch"] and ended["kind of processor"].startswith(began["kind of processor"])
    assert ended["kind of processor"].endswith(", other")
    assert weights_of(run) == weights_of(whole("rnn"))  # it was the same machine after all


def test_half_a_rank_environment_is_refused(start: Start, words_for: Any, tmp_path: Path) -> None:
    refused = start(words_for("rnn", tmp_path / "run"), environment={"RANK": "0"})
    assert refused["code"] == 2
    assert "WORLD_SIZE and MASTER_ADDR and MASTER_PORT are not set" in refused["errors"]


def test_a_process_with_other_code_is_refused(start: Start, words_for: Any, tmp_path: Path) -> None:
    """The other program is one that describes itself in another way."""
    words = words_for("rnn", tmp_path / "run")
    refused = start(words, world=2, rank=1, other="seqloom.training.same_everywhere:hash_of_code")
    assert refused["codes"] == [2, 2], refused["errors"]
    assert refused["errors"].count("process 1 on") == 1
    assert "differs from process 0" in refused["errors"]
    assert "  code of seqloom: " in refused["errors"]
    assert " there, other here" in refused["errors"]


def test_a_process_with_other_data_is_refused(start: Start, words_for: Any, tmp_path: Path) -> None:
    words = words_for("rnn", tmp_path / "run")
    refused = start(words, world=2, rank=1, other="seqloom.training.same_everywhere:hash_file")
    assert refused["codes"] == [2, 2], refused["errors"]
    assert "  content of rnn.tsv: " in refused["errors"]


def test_a_full_disk_in_process_0_ends_all_with_its_sentence(start: Start, words_for: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    full = start(words_for("rnn", run), world=2, largest_file=20_000)
    assert full["codes"] == [5, 5], full["errors"]
    assert full["errors"].count("cannot be written: the disk is full") == 1
    assert "lost the others" not in full["errors"]


@pytest.mark.slow
def test_torchrun_starts_it_and_restarts_it(
    words_for: Any, whole: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    """A process that is killed once is started again by torchrun, and the run ends in the same weights."""
    run = tmp_path / "run"
    killer = tmp_path / "killer.py"
    killer.write_text(KILLER.format(marker=str(tmp_path / "killed")))
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--max-restarts", "2"]
    launched = {**environment, "PYTHONWARNINGS": "ignore"}  # of torchrun itself
    done = subprocess.run(
        [*launch, str(killer), *words_for("rnn", run)], capture_output=True, encoding="utf-8", env=launched, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed").exists()
    assert "continuing after step 3" in done.stderr
    assert_same_run(run, whole("rnn"))


KILLER = """
import os, signal, sys
from pathlib import Path
from seqloom.cli.app import main
from seqloom.training.loop import Loop

real, marker = Loop.update, Path({marker!r})

def update(loop):
    if loop.state.step == 4 and os.environ["RANK"] == "1" and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    real(loop)

Loop.update = update
sys.exit(main(sys.argv[1:]))
"""
