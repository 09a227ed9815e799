"""AdamW by its equation: both memories, their corrections, epsilon and the decay."""

import math

import pytest
import torch
from torch import nn

from seqloom.config import TrainConfig
from seqloom.training.optimizers import make_optimizer


def updated(gradients: list[float], **settings: float) -> list[float]:
    """A weight that starts at 1, after each of these gradients."""
    layer = nn.Linear(1, 1, bias=False).double()
    nn.init.ones_(layer.weight)
    optimizer = make_optimizer(layer, TrainConfig(optimizer="adamw", **settings))
    seen = []
    for gradient in gradients:
        layer.weight.grad = torch.tensor([[gradient]], dtype=torch.float64)
        optimizer.step()
        seen.append(layer.weight.item())
    return seen


@pytest.mark.parametrize("beta2", [0.98, 0.9])
@pytest.mark.parametrize("size", [1.0, 1e-9])  # as small as epsilon: there it shows
def test_adamw_by_its_equation(size: float, beta2: float) -> None:
    """m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr (m^ / (sqrt(v^) + eps) + decay w)."""
    gradients = [0.5 * size, -0.2 * size, 0.3 * size]
    w, m, v, rate, decay, want = 1.0, 0.0, 0.0, 0.01, 0.1, []
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, beta2 * v + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - beta2**t)
        w -= rate * (m_hat / (math.sqrt(v_hat) + 1e-9) + decay * w)
        want.append(w)
    assert updated(gradients, learning_rate=rate, beta2=beta2, weight_decay=decay) == pytest.approx(want, abs=1e-9)
