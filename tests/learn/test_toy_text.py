"""A text in which every letter predicts the letter after the next, nine times out of ten: language models learn it."""

import math

import numpy as np
import pytest
import torch

from seqloom.config import load_config
from seqloom.data.language_windows import StreamBatches
from seqloom.models.build import build_model
from seqloom.tasks.language import Language

LETTERS, NOISE, WINDOW, ROWS = 5, 0.1, 24, 16
RIGHT, WRONG = 1 - NOISE + NOISE / LETTERS, NOISE / LETTERS
AT_BEST = -RIGHT * math.log(RIGHT) - (LETTERS - 1) * WRONG * math.log(
    WRONG
)  # 0.39 nats; the last letter alone tells nothing: 1.6
FAMILIES = {
    "gpt": ["model.kind=gpt", "model.layers=1", "model.heads=2", "model.positions=rotary"],
    "lstm": ["model.kind=rnn", "model.cell=lstm", "model.layers=1"],
}


def write(length: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    text = [0, 1]
    for noisy, letter in zip(random.random(length) < NOISE, random.integers(LETTERS, size=length), strict=True):
        text.append(int(letter) if noisy else (2 * text[-2] + 1) % LETTERS)
    return np.array(text) + 4


@pytest.mark.parametrize("family", FAMILIES)
def test_the_rule_of_a_text_is_found(family: str, updates: int = 150, peak: float = 1e-2) -> None:
    config = load_config(None, [*FAMILIES[family], "task.name=language", "model.width=32", "model.dropout=0.0"])
    torch.manual_seed(1)
    model = build_model(config, 4 + LETTERS, 4 + LETTERS, True)
    carries = config.model.kind == "rnn"
    optimizer = torch.optim.Adam(model.parameters(), lr=peak)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak, total_steps=updates, pct_start=0.1)
    task = Language(WINDOW, carries)
    batches = StreamBatches(write(30_000, seed=1), WINDOW, ROWS, carries=carries, seed=1)
    plan = [cut for epoch in range(3) for cut in batches.epoch(epoch)]
    for cut in plan[:updates]:
        loss = task.loss(model, batches.load(cut))
        optimizer.zero_grad()
        (loss.smoothed / loss.num_tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    unseen = StreamBatches(write(5000, seed=2), WINDOW, ROWS, carries=carries, seed=None)
    measure = Language(WINDOW, carries)
    with torch.inference_mode():
        losses = [measure.loss(model.eval(), unseen.load(cut)) for cut in unseen.epoch(0)]
    nats = sum(loss.nll.item() for loss in losses) / sum(loss.num_tokens for loss in losses)
    assert 0.9 * AT_BEST < nats < 1.4 * AT_BEST
