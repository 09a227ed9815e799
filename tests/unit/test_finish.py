"""Which weights become the model: the lowest loss or best score of last, best and average; damaged ones are skipped."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from torch import nn

from seqloom.config import TrainConfig, load_config
from seqloom.runtime.checkpoints import list_checkpoints, step_name
from seqloom.runtime.run_facts import RunFacts
from seqloom.training.checkpoint import save_checkpoint
from seqloom.training.finish import choose_weights, prune_finished, write_card
from seqloom.training.state import RunState


def choose(
    folder: Path, losses: dict[int, float], average_loss: float, said: list[str], metric: str = "", scores: Any = None
) -> tuple[str, float]:
    """Checkpoints of steps 2, 4 and 6 whose one weight is their step; the name of the choice and its weight.

    scores: that of each weight, where `metric` chooses.
    """
    model = nn.Linear(1, 1, bias=False)
    for step in (2, 4, 6):
        if not (folder / step_name(step)).exists():
            save_checkpoint(folder, step, {"model": {"weight": torch.full((1, 1), float(step))}}, {})
    nn.init.constant_(model.weight, 6.0)
    state = RunState(step=6, valid_losses=losses)
    config = TrainConfig(save_every=2, valid_every=2, average=3)
    validation: Any = SimpleNamespace(loss=lambda: average_loss, score=lambda name: scores[model.weight.item()])
    chosen = choose_weights(folder, state, config, model, validation, metric, said.append)  # type: ignore[arg-type]
    return chosen.name, model.weight.item()


@pytest.mark.parametrize(
    ("losses", "average_loss", "name", "weight"),
    [
        ({2: 3.0, 4: 2.0, 6: 1.0}, 1.5, "last", 6.0),
        ({2: 1.0, 4: 2.0, 6: 3.0}, 1.5, "best", 2.0),
        ({2: 3.0, 4: 2.0, 6: 1.0}, 0.5, "average", 4.0),
        ({2: 3.0, 4: 2.0, 6: math.nan}, 2.5, "best", 4.0),
    ],
)
def test_the_lowest_loss_wins(
    tmp_path: Path, losses: dict[int, float], average_loss: float, name: str, weight: float
) -> None:
    assert choose(tmp_path, losses, average_loss, []) == (name, weight)


@pytest.mark.parametrize(
    ("metric", "scores", "name", "weight"),
    [
        ("accuracy", {6: 90.0, 2: 80.0, 4: 70.0}, "last", 6.0),
        ("accuracy", {6: 90.0, 2: 80.0, 4: 91.0}, "average", 4.0),
        ("phoneme_error_rate", {6: 9.0, 2: 8.0, 4: 8.5}, "best", 2.0),
        ("phoneme_error_rate", {6: 8.0, 2: 8.0, 4: 8.0}, "best", 2.0),  # the loss decides between equals
    ],
)
def test_the_score_of_the_task_wins_over_the_loss(
    tmp_path: Path, metric: str, scores: dict[int, float], name: str, weight: float
) -> None:
    losses = {2: 1.0, 4: 2.0, 6: 3.0}
    assert choose(tmp_path, losses, 1.5, [], metric, scores) == (name, weight)


@pytest.mark.parametrize(
    ("task", "kind", "scores", "number", "has", "lacks"),
    [
        ("translate", "rnn", {"bleu": 31.0}, 501, ["501 pairs", "7 target tokens"], ["all of them"]),
        ("translate", "rnn", {"bleu": 31.0}, 501, ["BLEU 31.00 (last weights, the first 500;"], []),
        ("summarise", "rnn", {"rouge_1": 31.0}, 500, ["ROUGE-1 31.00 (last weights, all of them;"], ["the first"]),
        ("classify", "rnn", {"accuracy": 90.0}, 900, ["900 texts", "7 labels", "all of them"], ["pairs", "the first"]),
        ("language", "gpt", {}, 900, ["900 lines", "7 tokens"], ["pairs", "target", "| Validation |"]),
        ("masked", "rnn", {}, 900, ["900 texts", "7 hidden tokens"], ["pairs", "target", "| Validation |"]),
    ],
)  # fmt: skip
def test_the_card_says_what_was_learned_and_measured(
    task: str, kind: str, scores: dict[str, float], number: int, has: list[str], lacks: list[str], tmp_path: Path
) -> None:
    account = SimpleNamespace(kept=number, total=number)
    store: Any = MagicMock(names=["a.tsv"], account=account, held_out=False)
    store.__len__.return_value = number
    facts = RunFacts(
        params=1, step=2, tokens=7, seconds=60.0, data_hash="d", weights="last", valid_loss=1.0, valid_scores=scores
    )
    config = load_config(overrides=[f"task.name={task}", f"model.kind={kind}"])
    write_card(tmp_path, config, facts, store, store)
    card = (tmp_path / "card.md").read_text("utf-8")
    assert [text for text in has if text not in card] == []
    assert [text for text in lacks if text in card] == []
    assert "| Weights | last (lowest validation loss, 1.0000) |" in card


def test_the_card_says_which_score_chose_the_weights(tmp_path: Path) -> None:
    store: Any = MagicMock(names=["a.tsv"], account=SimpleNamespace(kept=9, total=9), held_out=True)
    store.__len__.return_value = 9
    facts = RunFacts(params=1, step=2, tokens=7, seconds=60.0, data_hash="d", weights="average", valid_loss=1.0)
    write_card(tmp_path, load_config(overrides=["task.name=pronounce"]), facts, store, store, 6.125)
    card = (tmp_path / "card.md").read_text("utf-8")
    assert "| Weights | average (best phoneme error rate on the validation data, 6.12) |" in card


def test_a_damaged_checkpoint_is_named_and_left_out(tmp_path: Path) -> None:
    choose(tmp_path, {6: 1.0}, 2.0, [])
    (tmp_path / step_name(2) / "model.safetensors").write_bytes(b"rot")
    said: list[str] = []
    assert choose(tmp_path, {6: 1.0}, 0.5, said) == ("average", 5.0)
    assert step_name(2) in said[0]


def test_a_finished_run_keeps_what_a_longer_one_continues_from(tmp_path: Path) -> None:
    """The best is that of the newest checkpoint's own state; if that is damaged, all are kept."""
    states = {2: {2: 3.0}, 4: {2: 3.0, 4: 1.0}, 6: {2: 3.0, 4: 1.0}, 8: {2: 3.0, 4: 1.0}}  # 8 is validated at the end
    for step, losses in states.items():
        state = RunState(step=step, valid_losses=losses).to_json()
        save_checkpoint(tmp_path, step, {"model": {"weight": torch.ones(1)}}, state)
    newest = tmp_path / step_name(8) / "state.json"
    good = newest.read_bytes()
    newest.write_bytes(good[:-2])
    prune_finished(tmp_path, 8)
    assert list_checkpoints(tmp_path) == [2, 4, 6, 8]
    newest.write_bytes(good)
    prune_finished(tmp_path, 8)
    assert list_checkpoints(tmp_path) == [4, 8]
