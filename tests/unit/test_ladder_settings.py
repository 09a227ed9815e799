"""What --set may not make equal in all rungs, and the order of rungs from earlier calls in the report."""

import pytest

from seqloom.errors import UsageError
from seqloom.ladder.finished import in_order
from seqloom.ladder.rungs import RUNGS, choose_rungs
from seqloom.ladder.settings import refuse_one_idea_for_all

RUNG_OF = {rung.name: rung for rung in RUNGS}


@pytest.mark.parametrize(
    ("rungs", "override", "said"),
    [
        ("rnn,lstm,gru", "model.cell=gru", r"differ in model.cell \(rnn: rnn, lstm: lstm, gru: gru\)"),
        ("rnn,lstm", " model.cell =gru", "differ in model.cell "),
        ("lstm,transformer", "model.kind=rnn", "differ in model.kind "),
        ("lstm,transformer", "model.layers=2", r"differ in model.layers \(lstm: 1, transformer: 3\)"),
        ("rnnsearch-dot,luong,transformer", "model.attention=dot", r"\(rnnsearch-dot: dot, luong: bilinear\)"),
        ("rnnsearch-bilinear,luong", "model.decoder=luong", "differ in model.decoder "),
        ("gru,rnnsearch-additive", "model.bidirectional=true", "differ in model.bidirectional "),
        ("lstm,lstm-reversed", "data.reverse_source=true", "differ in data.reverse_source "),
    ],
)
def test_a_setting_that_would_make_rungs_the_same_is_refused(rungs: str, override: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        refuse_one_idea_for_all(choose_rungs(rungs), ["train.max_steps=3", override])
    assert f"--set {override}: " in str(caught.value)
    assert "recipe file of your own" in str(caught.value)


@pytest.mark.parametrize(
    ("rungs", "override"),
    [
        ("rnn,transformer", "model.width=64"),
        ("rnn,transformer", "model.dropout=0.2"),
        ("rnn,lstm", "train.learning_rate=1e-3"),
        ("lstm,gru", "model.layers=2"),
        ("rnnsearch-bilinear,luong", "model.attention=dot"),
        ("lstm,luong", "model.decoder=bahdanau"),  # a fixed vector has no such decoder
        ("lstm,transformer", "model.cell=rnn"),  # the Transformer has no cell: nothing becomes the same
        ("rnn,lstm", "model.cell"),  # no setting at all: load_config says so
    ],
)
def test_sizes_training_and_what_rungs_share_may_be_set(rungs: str, override: str) -> None:
    refuse_one_idea_for_all(choose_rungs(rungs), [override])


@pytest.mark.parametrize(
    ("chosen", "others", "order"),
    [
        ("lstm", "", "lstm"),
        ("lstm", "rnn,gru", "rnn,lstm,gru"),
        ("gru,rnn", "", "gru,rnn"),  # as they were given
        ("transformer,rnn", "lstm", "lstm,transformer,rnn"),
        ("lstm,my/wide.toml", "rnn,gru,transformer", "rnn,lstm,wide,gru,transformer"),
        ("lstm,my/wide.toml,transformer", "gru", "lstm,wide,gru,transformer"),
        ("my/wide.toml", "rnn,lstm", "rnn,lstm,wide"),
    ],
)
def test_rungs_of_earlier_calls_stand_where_history_has_them(chosen: str, others: str, order: str) -> None:
    found = in_order(choose_rungs(chosen), [RUNG_OF[name] for name in others.split(",") if name])
    assert [rung.name for rung in found] == order.split(",")
