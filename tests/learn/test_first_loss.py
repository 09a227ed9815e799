"""The first loss of a recurrent model that writes characters: it starts knowing how frequent each one is."""

import json
import math

import pytest

import seqloom
from seqloom.data.store import Store
from seqloom.models.weights import read_shapes
from seqloom.text.vocabulary import EOS

SMALL = {
    "model.width": 8, "model.layers": 1, "model.embed_size": 0, "text.vocab_size": 300, "data.valid_pairs": 10,
    "train.max_steps": 1, "train.batch_tokens": 256, "train.warmup": 1, "train.learning_rate": 1e-9,
    "train.label_smoothing": 0.0,
}  # fmt: skip


def first_loss(folder):
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return next(event["loss"] for event in events if event["event"] == "valid")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Sources of letters; the targets are nothing but a, three per line."""
    file = tmp_path_factory.mktemp("data") / "pairs.tsv"
    file.write_text("".join(f"{chr(97 + i % 26)}{chr(97 + i // 26)}\taaa\n" for i in range(120)), "utf-8")
    return file


def train(pairs, out, *more):
    overrides = [f"{name}={value}" for name, value in SMALL.items()]
    return seqloom.train(pairs, out=out, threads=1, quiet=True, overrides=[*overrides, *more]).run


def test_characters_begin_at_their_frequencies(pairs, tmp_path):
    """Three a and one end per target: entropy 0.56 nats. From zero it would be about log 280 = 5.6."""
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    run = train(pairs, tmp_path / "x", "text.tokenizer=char", "model.kind=rnn")
    assert entropy < first_loss(run) < 1.8


@pytest.mark.parametrize(
    "settings",
    [
        ["model.kind=rnn", "text.tokenizer=bpe"],
        ["model.kind=gpt", "model.heads=2", "text.tokenizer=char"],
        ["model.kind=transformer", "model.heads=2", "text.tokenizer=char"],
    ],
    ids=["pieces of words", "gpt", "transformer"],
)
def test_others_begin_at_zero(settings, pairs, tmp_path):
    assert first_loss(train(pairs, tmp_path / "x", *settings)) > 5


def test_the_bias_is_the_log_of_the_smoothed_share(pairs, tmp_path):
    """One tenth of the probability is spread evenly, as the loss with label smoothing wants it."""
    from safetensors.numpy import load_file

    run = train(pairs, tmp_path / "x", "model.kind=rnn", "text.tokenizer=char", "train.label_smoothing=0.1")
    store, shapes = Store.open(run / "store"), read_shapes(run / "model.safetensors")
    size = shapes["output.bias"][0]
    counts = store.count_targets(size)
    assert (counts[EOS], counts.max(), counts.sum()) == (len(store), 3 * len(store), 4 * len(store))
    bias = load_file(run / "model.safetensors")["output.bias"]
    share = 0.9 * (len(store) + 1) / (4 * len(store) + size) + 0.1 / size
    assert bias[EOS] == pytest.approx(math.log(share), abs=1e-4)
    rare = 0.9 / (4 * len(store) + size) + 0.1 / size
    assert bias.min() == pytest.approx(math.log(rare), abs=1e-4)


def test_plain_text_is_its_own_target(tmp_path):
    (tmp_path / "text.txt").write_text("abab\n" * 400, "utf-8")
    overrides = [f"{name}={value}" for name, value in SMALL.items()]
    run = seqloom.train(
        tmp_path / "text.txt", out=tmp_path / "x", task="language", recipe="lstm-characters", threads=1, quiet=True,
        overrides=[*overrides, "task.window=16"],
    ).run  # fmt: skip
    assert first_loss(run) < 1.8
