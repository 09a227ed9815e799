import pytest
import torch

from seqloom.nn.dropout import Dropout


@pytest.mark.parametrize("probability", [0.004, 0.1, 0.3, 0.5, 0.99])
def test_drops_its_share_and_keeps_the_mean(probability: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(1001, 501)
    y = Dropout(probability)(x)
    assert (y == 0).float().mean().item() == pytest.approx(probability, abs=0.004)
    assert y.mean().item() == pytest.approx(1.0, abs=0.004 if probability < 0.9 else 0.05)
    assert len(y.unique()) == 2


def test_the_mean_is_kept_in_bfloat16_too() -> None:
    """1 / (1 - p) in eight bits is 1.1094 instead of 1.1130 for p = 0.1: each kept entry must be rounded by itself."""
    torch.manual_seed(1)
    x = 1 + torch.rand(2000, 1000).bfloat16()
    y = Dropout(0.1)(x)
    assert y.dtype == torch.bfloat16
    assert (y[y != 0].double().mean() / x[y != 0].double().mean()).item() == pytest.approx(256 / 230, rel=3e-4)


def test_every_place_of_the_eight_is_dropped_alike() -> None:
    torch.manual_seed(2)
    kept = Dropout(0.5)(torch.ones(20000, 8)) != 0
    assert torch.allclose(kept.float().mean(0), torch.full((8,), 0.5), atol=0.02)


def test_nothing_happens_when_evaluating_or_without_probability() -> None:
    x = torch.randn(3, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_seed_decides_and_the_gradient_follows_the_mask() -> None:
    drop, x = Dropout(0.4), torch.randn(6, 7, requires_grad=True)
    torch.manual_seed(3)
    first = drop(x)
    torch.manual_seed(3)
    assert torch.equal(first, drop(x))
    first.sum().backward()
    assert torch.equal(x.grad == 0, first == 0)
