"""Learning rates per part: chosen by the longest matching name; 0 = no gradient and no memory."""

import pytest
import torch
from torch import nn

from seqloom.config import TrainConfig
from seqloom.errors import UsageError
from seqloom.training.optimizers import make_optimizer, optimizer_tensors, set_rate
from seqloom.training.part_rates import freeze, parse_rates, rates_of


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Linear(2, 2, bias=False)
        self.encoder = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.encoder_norm = nn.LayerNorm(2)
        self.output = nn.Linear(2, 2)
        self.output.weight = self.table.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.encoder:
            x = layer(x)
        return self.output(self.encoder_norm(self.table(x)))


def test_a_part_is_a_name_up_to_a_dot_and_the_longest_counts() -> None:
    found = rates_of(Tied(), " encoder = 0.1, encoder.1=2 ,")
    assert found == {
        "encoder.0.weight": 0.1, "encoder.0.bias": 0.1, "encoder.1.weight": 2.0, "encoder.1.bias": 2.0,
    }  # fmt: skip
    assert rates_of(Tied(), "") == {}


def test_a_tied_tensor_is_known_by_all_its_names() -> None:
    assert rates_of(Tied(), "output.weight=0") == {"table.weight": 0.0}
    assert rates_of(Tied(), "output=0.5") == {"table.weight": 0.5, "output.bias": 0.5}
    with pytest.raises(UsageError, match=r"table and output share a tensor \(table.weight, output.weight\)"):
        rates_of(Tied(), "table=0, output=1")


@pytest.mark.parametrize("text", ["encoder", "encoder=", "=1", "encoder=fast", "encoder=-1", "encoder=nan", "a=1 b=2"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="want parts with a number"):
        parse_rates(text)


def test_an_unknown_part_is_named_with_those_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"encodr: no such part. Did you mean 'encoder'\?.*table, output, encoder, encoder_no"
    ):
        rates_of(Tied(), "encodr=0")


def test_each_part_moves_by_its_share_and_what_is_frozen_not_at_all() -> None:
    torch.manual_seed(1)
    model = Tied()
    config = TrainConfig(optimizer="sgd", weight_decay=0.0, rates="encoder=0.25, encoder_norm=0")
    freeze(model, config.rates)
    optimizer = make_optimizer(model, config)
    model(torch.randn(5, 2)).square().sum().backward()
    set_rate(optimizer, 0.5)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    gradients = {name: p.grad for name, p in model.named_parameters()}
    optimizer.step()
    for name, parameter in model.named_parameters():
        share = 0.25 if name.startswith("encoder.") else 1.0
        if name.startswith("encoder_norm"):
            assert gradients[name] is None
            assert torch.equal(parameter, before[name])
        else:
            torch.testing.assert_close(parameter, before[name] - 0.5 * share * gradients[name])


def test_a_frozen_part_has_no_memory() -> None:
    model = Tied()
    freeze(model, "encoder=0")
    optimizer = make_optimizer(model, TrainConfig(rates="encoder=0"))
    model(torch.randn(5, 2)).sum().backward()
    optimizer.step()
    kept = {name.partition(".")[0] for name in optimizer_tensors(model, optimizer)}
    assert kept == {"table", "encoder_norm", "output"}


def test_what_is_known_is_frozen_unless_its_rate_is_said() -> None:
    model = Tied()
    freeze(model, "encoder.1=0.5", known=["encoder.0.weight", "encoder.1.weight", "output.weight"])
    learns = {name for name, p in model.named_parameters() if p.requires_grad}
    assert learns == {
        "encoder.0.bias", "encoder.1.weight", "encoder.1.bias", "encoder_norm.weight", "encoder_norm.bias",
        "output.bias",
    }  # fmt: skip
    freeze(model, "")
    assert all(p.requires_grad for p in model.parameters())


def test_everything_frozen_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to learn"):
        freeze(Tied(), "table=0,encoder=0,encoder_norm=0,output=0")
