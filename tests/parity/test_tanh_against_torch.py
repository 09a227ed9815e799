"""The faster tanh equals torch's in values and gradients; without a gradient it is torch's own kernel."""

import pytest
import torch

from seqloom.nn.tanh import tanh

X = torch.cat([torch.linspace(-12, 12, 2001), torch.linspace(-0.01, 0.01, 101)])


@pytest.mark.parametrize("x", [X, torch.tensor([float("inf"), -float("inf"), 1e30, -1e30, 0.0])], ids=["usual", "far"])
def test_values_and_gradients(x: torch.Tensor) -> None:
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    weights = torch.arange(1.0, len(x) + 1)
    (tanh(ours) * weights).sum().backward()
    (torch.tanh(theirs) * weights).sum().backward()
    torch.testing.assert_close(tanh(ours), torch.tanh(theirs), atol=1e-6, rtol=0)
    torch.testing.assert_close(ours.grad / weights, theirs.grad / weights, atol=1e-6, rtol=0)


def test_the_second_use_of_an_input_sees_it_unchanged() -> None:
    """The work is done in place, in memory of its own."""
    x = torch.randn(5, requires_grad=True)
    before = x.detach().clone()
    tanh(x)
    assert torch.equal(x, before)


def test_nan_stays_nan() -> None:
    assert torch.isnan(tanh(torch.tensor([float("nan")], requires_grad=True))).all()


def test_without_a_gradient_nothing_new() -> None:
    with torch.no_grad():
        assert torch.equal(tanh(X), torch.tanh(X))
