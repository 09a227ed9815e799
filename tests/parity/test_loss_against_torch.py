"""Our cross-entropy against torch's: value and gradient."""

import pytest
import torch
from torch.nn import functional as F

from seqloom.nn.loss import cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(smoothing: float) -> None:
    torch.manual_seed(0)
    logits, targets = torch.randn(7, 9, dtype=torch.float64), torch.randint(9, (7,))
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss, nll = cross_entropy(ours, targets, smoothing)
    want = F.cross_entropy(theirs, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss, want)
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets, reduction="sum"))
    (3 * loss).backward()
    (3 * want).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
