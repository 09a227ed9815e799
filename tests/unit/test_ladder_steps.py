"""The recipes of the ladder: what each rung is, and that a step changes nothing but its idea."""

import pytest

from seqloom.config import Config, load_config
from seqloom.config.recipes import find_recipe
from seqloom.ladder.rungs import RUNGS
from seqloom.training.resume import flatten

FIRST = {  # settings of the rung at the bottom that are not the default
    "text.tokenizer": "bpe", "text.vocab_size": 4000, "text.joint": True,
    "model.kind": "rnn", "model.cell": "rnn", "model.attention": "none", "model.bidirectional": False,
    "model.layers": 1, "model.width": 384, "model.embed_size": 256, "model.dropout": 0.2, "model.tied": True,
    "train.batch_tokens": 1024, "train.learning_rate": 1e-3, "train.schedule": "cosine", "train.warmup": 400,
    "train.max_epochs": 12, "train.label_smoothing": 0.1, "train.clip_norm": 1.0, "train.valid_every": 500,
    "train.save_every": 250, "train.average": 4, "decode.beam": 5,
    "decode.length_penalty": 1.2,
}  # fmt: skip
CHANGES = {  # what a rung has that the step before it has not
    "lstm": {"model.cell": "lstm", "train.learning_rate": 2e-3},
    "gru": {"model.cell": "gru"},
    "lstm-reversed": {"data.reverse_source": True},
    "rnnsearch-additive": {"model.attention": "additive", "model.bidirectional": True, "model.embed_scale": False},
    "rnnsearch-dot": {"model.attention": "dot"},
    "rnnsearch-scaled-dot": {"model.attention": "scaled_dot"},
    "rnnsearch-gaussian": {"model.attention": "gaussian"},
    "rnnsearch-bilinear": {"model.attention": "bilinear"},
    "luong": {"model.decoder": "luong"},
    "deep-bidirectional": {"model.layers": 2},
    "transformer": {
        "model.kind": "transformer", "model.cell": Config().model.cell, "model.layers": 3, "model.width": 256,
        "model.embed_size": 0, "model.embed_scale": True, "model.heads": 4, "model.ffn_size": 1024,
        "model.dropout": 0.25, "model.norm": "post",
        "model.positions": "rotary", "train.learning_rate": 1e-3,
    },
}  # fmt: skip


def settings_of(rung: str) -> dict[str, object]:
    return flatten(load_config(find_recipe(f"ladder/{rung}")))


def test_the_first_rung() -> None:
    assert settings_of("rnn") == {**flatten(Config()), **FIRST}


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if rung.before], ids=lambda rung: rung.name)
def test_a_step_changes_its_idea_alone(rung: object) -> None:
    assert settings_of(rung.name) == {**settings_of(rung.before), **CHANGES[rung.name]}


@pytest.mark.parametrize(
    ("sibling", "rung"), [("rnnsearch-small", "rnnsearch-additive"), ("sutskever-small", "lstm-reversed")]
)
def test_a_small_sibling_that_names_a_rungs_result_is_that_rung(sibling: str, rung: str) -> None:
    small, measured = find_recipe(sibling), find_recipe(f"ladder/{rung}")
    assert load_config(small) == load_config(measured)
    results = [file.read_text("utf-8").splitlines()[0].partition("Result: ")[2] for file in (small, measured)]
    assert results[0] == results[1] != ""
