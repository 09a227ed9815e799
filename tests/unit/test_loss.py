"""The loss against torch's own, values and gradients."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from seqloom.nn import loss as losses
from seqloom.nn.loss import output_loss


def draw(rows: int, width: int, vocab: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden vectors, output matrix, bias, targets."""
    torch.manual_seed(0)
    learned = [torch.randn(*size, dtype=torch.float64) for size in ((rows, width), (vocab, width), (vocab,))]
    hidden, weight, bias = (tensor.requires_grad_() for tensor in learned)
    return hidden, weight, bias, torch.randint(0, vocab, (rows,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("at_once", [2**22, 33], ids=["all rows", "three rows at a time"])
def test_equals_torch_in_value_and_gradient(smoothing: float, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "LOGITS_AT_ONCE", at_once)
    *learned, targets = draw(7, 5, 11)
    loss, nll = output_loss(*learned, targets, smoothing)
    ours = torch.autograd.grad(3 * loss, learned)
    logits = F.linear(*learned)
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(ours, torch.autograd.grad(3 * expected, learned))
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets, reduction="sum"))


def test_rounded_products_keep_the_loss_and_nearly_the_gradients() -> None:
    """bfloat16 has eight bits of fraction; the gradient of each is right to about one part in 256."""
    hidden, weight, bias, targets = draw(64, 32, 50)
    learned = [tensor.detach().float().requires_grad_() for tensor in (hidden, weight, bias)]
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = output_loss(*learned, targets, 0.1)
    expected, _ = output_loss(hidden, weight, bias, targets, 0.1)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-2, atol=0)
    found = torch.autograd.grad(loss, learned)
    for rounded, exact in zip(found, torch.autograd.grad(expected, (hidden, weight, bias)), strict=True):
        assert rounded.dtype == torch.float32
        assert (rounded - exact).norm() < 0.02 * exact.norm()


def test_a_frozen_output_layer_passes_the_gradient_on() -> None:
    hidden, weight, bias, targets = draw(7, 5, 11)
    loss, _ = output_loss(hidden, weight.detach(), bias.detach(), targets)
    assert torch.isfinite(torch.autograd.grad(loss, hidden)[0]).all()


def test_the_reported_nll_has_no_gradient() -> None:
    *learned, targets = draw(2, 4, 3)
    _, nll = output_loss(*learned, targets)
    assert not nll.requires_grad


def test_extreme_logits_stay_finite() -> None:
    hidden = torch.eye(1, requires_grad=True)
    loss, _ = output_loss(hidden, torch.tensor([[1e4], [-1e4], [0.0]]), torch.zeros(3), torch.tensor([0]), 0.1)
    loss.backward()
    assert torch.isfinite(loss)
    assert hidden.grad is not None
    assert torch.isfinite(hidden.grad).all()
