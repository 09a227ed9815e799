"""seqloom plan: its figures, its words, its errors."""

import json
import math

import pytest

from seqloom.cli.app import main
from seqloom.config import load_config
from seqloom.planning.costs import Costs, Seconds
from seqloom.planning.forecast import Amount, predict
from seqloom.planning.machine import Machine
from seqloom.workflows import plan as workflow

SMALL = (
    "model.width=16 model.layers=1 model.heads=2 text.tokenizer=char text.vocab_size=300 data.max_tokens=40 "
    "train.threads=1 train.max_steps=100 train.max_epochs=0 train.batch_tokens=256 train.schedule=constant"
)
SET = [word for setting in SMALL.split() for word in ("--set", setting)]
NUMBERS = ["plan", "--pairs", "5000", "--lengths", "8,12", "--recipe", "transformer-small", *SET]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(workflow, "SECONDS", 0.2)


def planned(words, capsys):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_described_machine(capsys):
    found = planned([*NUMBERS, "--gflops", "10", "--cores", "4", "--mfu", "0.5"], capsys)
    seconds = found["flops_per_token"] * found["tokens_per_update"] / (4 * 10e9 * 0.5)
    assert found["seconds_per_update"] == pytest.approx(seconds)
    assert found["mfu"] == pytest.approx(0.5)
    assert found["updates"] == 100
    assert found["ends"] == "train.max_steps = 100"
    assert found["total"] == pytest.approx(100 * seconds + found["validation"])
    assert sum(found["share"].values()) == pytest.approx(1)
    assert found["memory"]["optimizer"] == 8 * found["params"]
    assert found["sent"] == 0


def test_this_machine_and_a_file(tiny_pairs, capsys):
    assert main(["plan", str(tiny_pairs), "--recipe", "transformer-small", *SET]) == 0
    shown = capsys.readouterr().out
    for name in ("data", "recipe", "machine", "model", "updates", "speed", "time", "where it goes", "memory", "disk"):
        assert f"\n{name} " in f"\n{shown}"
    assert "updates timed" in shown
    assert "GFLOP/s in a bare matrix product" in shown


def test_what_each_process_would_do(capsys):
    words = [*NUMBERS, "--set", "train.accumulate=3", "--world", "2", "--gflops", "10", "--bandwidth", "1"]
    assert main([*words, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "process 0: parts 0, 2 of every step; writes the run folder" in shown
    assert "process 1: parts 1 of every step\n" in shown
    assert shown.count("of a step like step 1") == 3
    assert "each of 2 processes sends" in shown


@pytest.mark.parametrize("settings", [["--budget", "1m"], ["--set", "train.accumulate=2"]])
def test_budget_and_parts(settings, capsys):
    found = planned([*NUMBERS, *settings, "--gflops", "1"], capsys)
    if "--budget" in settings:
        assert found["total"] == pytest.approx(60, rel=0.05)
        assert found["ends"] == "--budget"
    else:
        assert found["parts"] == 2


def test_plain_text(capsys):
    words = [word for setting in ("text.vocab_size=300", "model.width=16") for word in ("--set", setting)]
    words += ["--set", "train.batch_tokens=512", "--budget", "1m", "--gflops", "1"]
    found = planned(["plan", "--pairs", "2000", "--lengths", "20", "--recipe", "gpt-small", *words], capsys)
    assert found["tokens_per_second"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan"], "which data? Name a file, or give its size"),
        (["plan", "a.tsv", "--pairs", "5"], "give a file, or --pairs with --lengths, not both"),
        (["plan", "--pairs", "5", "--lengths", "3,4"], "name a --recipe"),
        (["plan", "--pairs", "5", "--lengths", "x"], "want the mean tokens of source and target, such as 30,33"),
        (["plan", "--pairs", "5", "--lengths", "0,1"], "want the mean tokens of source and target, above 0"),
        ([*NUMBERS, "--world", "2"], "a step has only 1 part (train.accumulate) to share out"),
        ([*NUMBERS, "--world", "0"], "want a number of processes, at least 1"),
        ([*NUMBERS, "--cores", "4"], "describes another machine, and its speed is missing: give --gflops"),
        ([*NUMBERS, "--gflops", "0"], "--gflops 0: want a number above 0"),
        ([*NUMBERS, "--gflops", "1", "--mfu", "2"], "--mfu 2: want a share from 0 to 1"),
        (["plan", "nothing.tsv"], "nothing.tsv: no such file"),
        (["plan", "--pairs", "9", "--lengths", "9", "--recipe", "classify-lstm"], "its labels have to be counted"),
    ],
)
def test_wrong_calls(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_the_time_of_an_update():
    """3 parts by 2 processes: two rounds, what each process sends, and half of the optimizer's step for each."""
    train = load_config(overrides=["train.accumulate=3", "train.max_steps=10", "train.valid_every=1000"]).train
    spent = Seconds(load=1, forward=2, backward=3, update=5, updates=5, cells=100)
    costs = Costs(params=1000, flops=10, tokens=0.5, activations=1, optimizer_states=2, seconds=spent)
    amount = Amount(pairs=100, batches_per_epoch=6, cells=50, most_cells=60, valid_cells=0, ids=900)
    found = predict(train, costs, amount, Machine(bandwidth=1e-6), 2, None, 1.0)
    assert found.sent == 4 * 1000 / 2 * (3 / 2 + 1)
    assert found.seconds_per_update == pytest.approx(2 * (1 + 2 + 3) / 2 + found.sent * 8 / 1e3 + 1 / 2)
    assert (found.memory["gradients"], found.memory["optimizer"]) == (4 * 1000 * 1.5, 4 * 1000 * 2 / 2)
    assert found.tokens_per_update == 3 * 50 * 0.5
    assert found.epochs == 10 / (6 / 3)
    assert math.isclose(found.share["waiting for other processes"] * found.seconds_per_update, 3 * 0.5, rel_tol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "hours", "share"),
    [
        (["--pairs", "36000000", "--lengths", "30,33", "--recipe", "vaswani2017-base", "--cores", "8"], 12, 0.26),
        (["--pairs", "36000000", "--lengths", "30,33", "--recipe", "vaswani2017-big", "--cores", "8"], 84, 0.36),
        (["--pairs", "12000000", "--lengths", "28,30", "--recipe", "bahdanau2015-rnnsearch50"], 111, 0.115),
        (["--pairs", "12000000", "--lengths", "25,28", "--recipe", "sutskever2014", "--cores", "8"], 240, 0.0865),
    ],
)
def test_the_hours_of_papers(words, hours, share, capsys):
    """docs/how-to/plan-a-run.md: with this share of the GPUs' speed, the prediction is what the paper needed."""
    speed = "9500" if words[5].startswith("vaswani") else "3700"
    found = planned(["plan", *words, "--gflops", speed, "--mfu", str(share)], capsys)
    assert found["total"] / 3600 == pytest.approx(hours, rel=0.05)
