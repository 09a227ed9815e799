"""Readers learn: a label that depends on the order of two words, a tag that depends on the next word, a hidden word."""

import pytest
import torch
from torch import Tensor

from seqloom.config import load_config
from seqloom.data.batch import Batch
from seqloom.models.api import Reader
from seqloom.models.build import build_model
from seqloom.tasks.build import build_task
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD, MASK, PAD

A, B, OTHERS, VOCAB = 4, 5, 6, 14  # words; labels are A and B too


def texts(rows: int, length: int, random: torch.Generator) -> Tensor:
    """BOS x EOS; each x holds A once and B once among other words."""
    words = torch.randint(OTHERS, VOCAB, (rows, length), generator=random)
    places = torch.rand(rows, length, generator=random).argsort(1)[:, :2]
    words.scatter_(1, places[:, :1], A).scatter_(1, places[:, 1:], B)
    return torch.cat([torch.full((rows, 1), BOS), words, torch.full((rows, 1), EOS)], 1)


def first_of_both(src: Tensor) -> Tensor:
    """(B, 1): A or B, whichever comes first."""
    return torch.where((src == A).int().argmax(1) < (src == B).int().argmax(1), A, B)[:, None]


def next_word(src: Tensor) -> Tensor:
    """(B, S): A where the next word is an even one, else B; nothing at the edges."""
    tags = torch.where(src.roll(-1, 1) % 2 == 0, A, B)
    tags[:, 0] = tags[:, -1] = PAD
    return tags


def make_batch(task: str, src: Tensor) -> Batch:
    wanted = {"classify": first_of_both, "tag": next_word, "masked": lambda src: src}[task](src)
    return Batch(src, src != PAD, src[:, :0], wanted, wanted >= FIRST_WORD, torch.arange(len(src)))


def repeat(src: Tensor) -> Tensor:
    """To be guessed when hidden: the second half is the first once more."""
    half = src[:, 1:5]
    return torch.cat([src[:, :1], half, half, src[:, -1:]], 1)


def learn(task: str, settings: list[str], steps: int) -> float:
    """The share of right answers to new texts after so many updates."""
    small = [
        "model.width=32",
        "model.heads=2",
        "model.layers=1",
        "model.dropout=0.0",
        f"task.name={task}",
        "task.hide=0.15",
    ]
    config = load_config(None, [*small, *settings])
    torch.manual_seed(1)
    model, job = build_model(config, VOCAB, VOCAB if task == "masked" else OTHERS, task == "masked"), build_task(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=steps)
    random = torch.Generator().manual_seed(2)
    for _ in range(steps):
        src = texts(32, 8, random)
        loss = job.loss(model, make_batch(task, repeat(src) if task == "masked" else src))
        optimizer.zero_grad()
        (loss.smoothed / loss.num_tokens).backward()
        optimizer.step()
        schedule.step()
    src = texts(200, 8, random)
    return accuracy(model, task, make_batch(task, repeat(src) if task == "masked" else src))


@torch.inference_mode()
def accuracy(model: Reader, task: str, batch: Batch) -> float:
    shown, places = batch.src, batch.tgt_mask
    if task == "masked":
        places = torch.zeros_like(places)
        places[:, 3] = True  # its twin is shown
        shown = shown.masked_fill(places, MASK)
    logits = model.project(model.eval().hidden(shown, batch.src_mask)[places])
    best = logits[:, FIRST_WORD:].argmax(-1) + FIRST_WORD  # nothing was learned of <pad> and its like
    return (best == batch.tgt_out[places]).float().mean().item()


@pytest.mark.parametrize(
    ("task", "settings", "steps"),
    [
        pytest.param("classify", ["model.kind=rnn", "model.cell=gru"], 100, marks=pytest.mark.slow),
        pytest.param(
            "classify", ["model.kind=transformer", "model.norm=post", "model.layers=2"], 200, marks=pytest.mark.slow
        ),
        ("tag", ["model.kind=rnn", "model.cell=gru"], 110),
        pytest.param("tag", ["model.kind=transformer"], 200, marks=pytest.mark.slow),
        pytest.param("masked", ["model.kind=transformer", "model.layers=2"], 400, marks=pytest.mark.slow),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_new_texts_are_answered_right(task: str, settings: list[str], steps: int) -> None:
    assert learn(task, settings, steps) > 0.95


def test_what_hangs_on_the_order_or_on_what_follows_needs_a_reader_that_sees_it() -> None:
    """A bag of words and a network that only reads forward guess."""
    assert learn("classify", ["model.kind=bag"], 60) < 0.7
    assert learn("tag", ["model.kind=rnn", "model.bidirectional=false"], 60) < 0.75
