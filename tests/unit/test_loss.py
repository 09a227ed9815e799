"""The loss against torch's own, values and gradients."""

import pytest
import torch
from torch.nn import functional as F

from seqloom.nn.loss import cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_torch_in_value_and_gradient(smoothing: float) -> None:
    torch.manual_seed(0)
    logits = torch.randn(7, 11, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 11, (7,))
    loss, nll = cross_entropy(logits, targets, smoothing)
    (3 * loss).backward()
    ours, logits.grad = logits.grad, None
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    (3 * expected).backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(ours, logits.grad)
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets, reduction="sum"))


def test_the_reported_nll_has_no_gradient() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    _, nll = cross_entropy(logits, torch.tensor([0, 2]))
    assert not nll.requires_grad


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss, _ = cross_entropy(logits, torch.tensor([0]), 0.1)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()
