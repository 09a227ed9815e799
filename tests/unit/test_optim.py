"""Schedules by known values, clipping by its equation, the optimizer's state through the names in a file."""

import math

import pytest
import torch
from torch import nn

from seqloom.config import TrainConfig
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.optimizers import (
    OPTIMIZERS,
    load_optimizer_tensors,
    make_optimizer,
    optimizer_tensors,
)
from seqloom.training.schedules import learning_rate


def rate(schedule: str, step: int, progress: float, by_clock: bool = False) -> float:
    return learning_rate(TrainConfig(schedule=schedule, learning_rate=2.0, warmup=10), step, progress, by_clock)


def test_warm_up_is_linear_and_reaches_the_peak() -> None:
    assert [rate("constant", step, 0.0) for step in (1, 5, 10, 11)] == [0.2, 1.0, 2.0, 2.0]


def test_by_the_clock_warm_up_is_at_most_five_per_cent() -> None:
    assert rate("constant", 1, 0.05, by_clock=True) == 2.0
    assert rate("constant", 1, 0.025, by_clock=True) == pytest.approx(1.0)
    assert rate("constant", 1, 0.05) == pytest.approx(0.2)


def test_inverse_square_root() -> None:
    assert rate("inverse_sqrt", 40, 0.0) == pytest.approx(2.0 * math.sqrt(10 / 40))


def test_cosine_falls_from_peak_to_zero() -> None:
    assert [rate("cosine", 100, p) for p in (0.0, 0.5, 1.0)] == pytest.approx([2.0, 1.0, 0.0])


def test_warm_up_stable_decay() -> None:
    assert [rate("wsd", 100, p) for p in (0.0, 0.7, 0.85, 1.0)] == pytest.approx([2.0, 2.0, 1.0, 0.0])


def test_halving_keeps_ten_of_fifteen_parts_and_then_halves_in_each() -> None:
    middles = [(part + 0.5) / 15 for part in range(15)]
    want = [2.0] * 10 + [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert [rate("halving", 100, progress) for progress in middles] == want
    assert rate("halving", 100, 1.0) == want[-1]


def gradients(*values: float) -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.zeros(1)) for _ in values]
    for parameter, value in zip(parameters, values, strict=True):
        parameter.grad = torch.tensor([value])
    return parameters


def test_clipping_is_by_the_norm_of_the_mean_gradient() -> None:
    parameters = gradients(30.0, 40.0)  # |g| = 50, over 10 tokens 5
    assert scale_and_clip(parameters, 10, theta=1.0) == pytest.approx(5.0)
    assert [p.grad.item() for p in parameters] == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("theta", [0.0, 9.0])
def test_a_small_gradient_or_no_limit_is_only_divided(theta: float) -> None:
    parameters = gradients(30.0, 40.0)
    scale_and_clip(parameters, 10, theta)
    assert [p.grad.item() for p in parameters] == pytest.approx([3.0, 4.0])


def test_a_non_finite_norm_is_reported() -> None:
    assert not math.isfinite(scale_and_clip(gradients(float("nan"), 1.0), 1, 1.0))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_vectors_do_not_decay(name: str) -> None:
    optimizer = make_optimizer(nn.Linear(3, 4), TrainConfig(optimizer=name, weight_decay=0.5))
    decays = {p.ndim: group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert decays == {2: 0.5, 1: 0.0}


def updated(name: str, gradients: list[float], **settings: float) -> list[float]:
    """A weight that starts at 1, after each of these gradients."""
    weight = nn.Linear(1, 1, bias=False)
    nn.init.ones_(weight.weight)
    optimizer = make_optimizer(weight, TrainConfig(optimizer=name, weight_decay=0.0, **settings))
    seen = []
    for gradient in gradients:
        weight.weight.grad = torch.tensor([[gradient]])
        optimizer.step()
        seen.append(weight.weight.item())
    return seen


def test_plain_gradient_descent() -> None:
    assert updated("sgd", [2.0, -1.0], learning_rate=0.1) == pytest.approx([0.8, 0.9])


def test_adadelta_by_its_equation() -> None:
    """v <- rho v + (1 - rho) g^2;  d = sqrt((u + eps) / (v + eps)) g;  u <- rho u + (1 - rho) d^2;  w <- w - lr d."""
    w, v, u, rho, eps, want = 1.0, 0.0, 0.0, 0.9, 1e-6, []
    for g in (0.5, -0.2, 0.3):
        v = rho * v + (1 - rho) * g**2
        d = math.sqrt((u + eps) / (v + eps)) * g
        u = rho * u + (1 - rho) * d**2
        w -= 3.0 * d
        want.append(w)
    assert updated("adadelta", [0.5, -0.2, 0.3], learning_rate=3.0, beta2=0.9) == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_memory_goes_through_its_names(name: str) -> None:
    torch.manual_seed(0)
    models = [nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [make_optimizer(model, TrainConfig(optimizer=name)) for model in models]
    x = torch.randn(5, 3)

    def step(number: int) -> None:
        models[number](x).square().sum().backward()
        optimizers[number].step()
        optimizers[number].zero_grad()

    step(0)
    models[1].load_state_dict(models[0].state_dict())
    saved = {name: tensor.clone() for name, tensor in optimizer_tensors(models[0], optimizers[0]).items()}
    load_optimizer_tensors(models[1], optimizers[1], saved)
    step(0)
    step(1)
    assert torch.equal(models[0].weight, models[1].weight)
    assert torch.equal(models[0].bias, models[1].bias)
