"""Which tensors are copied from an old model to a new one, between all shapes, and how it is reported."""

from typing import Any

import pytest
import torch

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.models.take_over import render_taken, take_labels, take_over

SMALL = "model.layers=2 model.width=8 model.heads=2"


def make(*settings: str, vocab: int = 9, target: int | None = None, seed: int = 1) -> Any:
    torch.manual_seed(seed)
    config = load_config(overrides=[*SMALL.split(), *settings])
    return build_model(config, vocab, target or vocab, target is None)


def parts(names: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def assert_copied(new: Any, old: Any, taken: Any) -> None:
    """What is said to be taken is equal, what is said to be new is as it was drawn, and every name is told of once."""
    state, source = new.state_dict(), old.state_dict()
    for name in taken.whole:
        assert torch.equal(state[name], source[name]), name
    told = [*taken.whole, *taken.begun, *taken.shared, *taken.new]
    assert sorted(told) == sorted(state)


def test_a_denoiser_becomes_a_translator_whole() -> None:
    old, new = make("task.name=denoise", seed=2), make()
    taken = take_over(new, old.state_dict(), same_target=True)
    assert_copied(new, old, taken)
    assert not taken.new
    assert not taken.unused
    assert taken.shared == {"source_table.weight": "target_table.weight", "output.weight": "target_table.weight"}


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_masked_encoder_becomes_a_reader_with_a_new_head(task: str) -> None:
    old, new = make("task.name=masked", seed=2), make(f"task.name={task}", target=6)
    fresh = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    taken = take_over(new, old.state_dict(), same_target=False)
    assert_copied(new, old, taken)
    assert parts(taken.whole) == {"source_table", "encoder", "encoder_norm"}
    assert taken.new == dict.fromkeys(["output.weight", "output.bias"], "another vocabulary")
    assert all(torch.equal(new.state_dict()[name], fresh[name]) for name in taken.new)
    assert taken.unused == ["output.bias"]  # output.weight is the table


def test_labels_of_another_list_are_never_taken_though_there_are_as_many() -> None:
    old, new = make("task.name=tag", target=6, seed=2), make("task.name=tag", target=6)
    assert "output.weight" in take_over(new, old.state_dict(), same_target=False).new
    assert "output.weight" in take_over(new, old.state_dict(), same_target=True).whole


@pytest.mark.parametrize(("rows", "told"), [({0: 0, 4: 5}, "1 of 2 labels"), ({0: 0, 4: 5, 5: 4}, "2 tensors")])
def test_rows_of_labels_that_both_know_are_taken(rows: dict[int, int], told: str) -> None:
    """Here 4 and 5 are labels; of the special ids only 0 is given, the others stay as drawn."""
    old, new = make("task.name=tag", target=6, seed=2), make("task.name=tag", target=6)
    fresh = new.output.weight.clone()
    taken = take_over(new, old.state_dict(), same_target=False)
    take_labels(new, old.state_dict(), taken, rows)
    for row in range(6):
        expected = old.output.weight[rows[row]] if row in rows else fresh[row]
        assert torch.equal(new.output.weight[row], expected)
    assert not taken.new
    assert not taken.unused
    assert f"  output: {told} from runs/x" in render_taken(taken, "runs/x").splitlines()
    assert ("output.weight" in taken.names) == (told == "2 tensors"), "what has new rows is not frozen beside adapters"


def test_without_a_label_that_both_know_the_layer_is_new() -> None:
    old, new = make("task.name=tag", target=6, seed=2), make("task.name=tag", target=6)
    taken = take_over(new, old.state_dict(), same_target=False)
    take_labels(new, old.state_dict(), taken, {0: 0, 1: 1, 2: 2, 3: 3})
    assert set(taken.new) == {"output.weight", "output.bias"}


def test_a_masked_encoder_fills_a_translators_tied_table() -> None:
    old, new = make("task.name=masked", seed=2), make()
    taken = take_over(new, old.state_dict(), same_target=True)
    assert torch.equal(new.target_table.weight, old.source_table.weight)
    assert parts(taken.whole) >= {"encoder", "encoder_norm"}
    assert parts(list(taken.new)) == {"decoder", "decoder_norm"}
    assert_copied(new, old, taken)


def test_a_gpt_becomes_a_decoder_whose_view_of_the_source_is_new() -> None:
    old, new = make("task.name=language", "model.kind=gpt", seed=2), make()
    taken = take_over(new, old.state_dict(), same_target=True)
    assert_copied(new, old, taken)
    new_in_decoder = {name.split(".")[2] for name in taken.new if name.startswith("decoder.")}
    assert new_in_decoder == {"cross", "around_cross"}
    assert not taken.unused
    told = render_taken(taken, "runs/gpt")
    assert (
        "decoder: 28 tensors from runs/gpt; new: decoder.*.cross (12), decoder.*.around_cross (4) (not there)" in told
    )
    assert "  encoder: new: 28 tensors (not there)" in told.splitlines()
    assert "  source_table: shares source_table.weight with target_table.weight" in told.splitlines()


def test_a_table_of_places_is_taken_as_far_as_it_goes() -> None:
    old, new = make("model.positions=learned", "data.max_tokens=20", seed=2), make("model.positions=learned")
    fresh = new.source_positions.table.clone()
    taken = take_over(new, old.state_dict(), same_target=True)
    assert taken.begun == {"source_positions.table": 92, "target_positions.table": 92}
    assert torch.equal(new.source_positions.table[:92], old.source_positions.table)
    assert torch.equal(new.source_positions.table[92:], fresh[92:])
    assert "source_positions: the first 92 positions from runs/x, the others new" in render_taken(taken, "runs/x")
    shorter = make("model.positions=learned", "data.max_tokens=10")
    assert not take_over(shorter, old.state_dict(), same_target=True).begun
    assert torch.equal(shorter.source_positions.table, old.source_positions.table[:72])


def test_other_widths_do_not_fit_and_the_reason_is_said() -> None:
    old, new = make("model.width=16", seed=2), make()
    before = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    taken = take_over(new, old.state_dict(), same_target=True)
    assert taken.whole == ["output.bias"]
    assert taken.new["target_table.weight"] == "shape [9, 8] here, [9, 16] there"
    assert all(torch.equal(new.state_dict()[name], before[name]) for name in taken.new)
    assert "in runs/x but not used: target_table (1), source_table (1), encoder.*.attention" in render_taken(
        taken, "runs/x"
    )
