"""Adapters: adding them changes no output, only they are trained, and merging them changes no output."""

import torch

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.nn.adapter import ALPHA, Adapted, add_adapters, merge_adapters

SETTINGS = ["model.kind=transformer", "model.layers=2", "model.width=8", "model.heads=2", "model.dropout=0"]


def outputs(model: torch.nn.Module) -> torch.Tensor:
    tokens = torch.tensor([[4, 5, 6, 2], [7, 4, 2, 0]])
    memory = model.encode(tokens, tokens != 0)
    return model.project(model.hidden(tokens, memory))


def make() -> torch.nn.Module:
    torch.manual_seed(2)
    return build_model(load_config(overrides=SETTINGS), 9, 9, True).eval()


def test_the_equation() -> None:
    torch.manual_seed(1)
    linear, x = torch.nn.Linear(5, 3), torch.randn(2, 5)
    adapted = Adapted(linear, 2)
    assert torch.equal(adapted(x), linear(x))  # B is zero at first
    torch.nn.init.normal_(adapted.adapter_B)
    want = x @ linear.weight.T + linear.bias + ALPHA / 2 * x @ adapted.adapter_A.T @ adapted.adapter_B.T
    torch.testing.assert_close(adapted(x), want)
    torch.testing.assert_close(adapted.merged()(x), want)


def test_names_stay_and_merged_the_model_is_a_plain_one() -> None:
    model = make()
    before, names = outputs(model), set(model.state_dict())
    assert add_adapters(model, 3) == 3 * (2 + 2 * 2)  # W_q, W_kv, W_o of 2 encoder blocks and twice 2 decoder blocks
    assert torch.equal(outputs(model), before)
    added = set(model.state_dict()) - names
    assert names < set(model.state_dict())
    assert {name.rpartition(".")[2] for name in added} == {"adapter_A", "adapter_B"}
    for name, parameter in model.named_parameters():
        if name in added:
            torch.nn.init.normal_(parameter, std=0.3)
    changed = outputs(model)
    assert not torch.allclose(changed, before)
    merge_adapters(model)
    assert set(model.state_dict()) == names
    torch.testing.assert_close(outputs(model), changed)
    plain = make()
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(outputs(plain), changed)


def test_a_model_without_attention_has_no_place_for_them() -> None:
    config = load_config(overrides=["model.kind=rnn", "model.width=4", "model.layers=1"])
    assert add_adapters(build_model(config, 9, 9, True), 2) == 0
