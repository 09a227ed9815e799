"""Optimizers, learning-rate schedules and gradient clipping."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.config import TrainConfig
from seqloom.train.rates import rates_of

DECAY_SHARE = 0.3  # of the run: the last part of warm-up-stable-decay
WARMUP_SHARE = 0.05  # of the run: the longest warm-up where the end is known only by the clock

# factor(step, warmup, progress): the learning rate after warm-up as a share of its peak. `progress` runs from 0 to 1.
SCHEDULES: dict[str, Callable[[int, int, float], float]] = {
    "constant": lambda step, warmup, progress: 1.0,
    "inverse_sqrt": lambda step, warmup, progress: math.sqrt(max(1, warmup) / max(1, warmup, step)),
    "cosine": lambda step, warmup, progress: 0.5 * (1 + math.cos(math.pi * min(1.0, progress))),
    "wsd": lambda step, warmup, progress: min(1.0, max(0.0, 1 - progress) / DECAY_SHARE),
    # Sutskever et al. 2014: 15 half epochs, 10 of them at the peak, then half as much in each.
    "halving": lambda step, warmup, progress: 0.5 ** max(0, min(14, int(15 * progress)) - 9),
}
NEEDS_AN_END = ("cosine", "wsd", "halving")


def learning_rate(config: TrainConfig, step: int, progress: float, by_clock: bool = False) -> float:
    """Linear warm-up to the peak, then the schedule. `step` counts from 1."""
    warm = step / max(1, config.warmup)
    if by_clock:
        warm = max(warm, progress / WARMUP_SHARE)
    return config.learning_rate * min(1.0, warm) * SCHEDULES[config.schedule](step, config.warmup, progress)


def adamw(groups: list[dict[str, Any]], config: TrainConfig) -> torch.optim.Optimizer:
    """m, v <- moving means of g, g^2;  w <- w - lr (m^ / sqrt(v^) + decay w).   Loshchilov and Hutter 2019."""
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, config.beta2), eps=1e-9, fused=True)


def sgd(groups: list[dict[str, Any]], config: TrainConfig) -> torch.optim.Optimizer:
    """w <- w - lr (g + decay w)"""
    return torch.optim.SGD(groups, lr=config.learning_rate)


def adadelta(groups: list[dict[str, Any]], config: TrainConfig) -> torch.optim.Optimizer:
    """v, u <- moving means of g^2, d^2;  w <- w - lr d,  d = sqrt(u / v) (g + decay w).   Zeiler 2012."""
    return torch.optim.Adadelta(groups, lr=config.learning_rate, rho=config.beta2, eps=1e-6)


OPTIMIZERS: dict[str, Callable[[list[dict[str, Any]], TrainConfig], torch.optim.Optimizer]] = {
    "adamw": adamw,
    "sgd": sgd,
    "adadelta": adadelta,
}


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Matrices decay; biases, norms and other vectors do not. Each part at its own rate, what is frozen left out."""
    parts: dict[tuple[float, bool], list[nn.Parameter]] = {(1.0, True): [], (1.0, False): []}
    rates = rates_of(model, config.rates)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parts.setdefault((rates.get(name, 1.0), parameter.ndim > 1), []).append(parameter)
    groups = [
        {"params": parameters, "weight_decay": config.weight_decay if decays else 0.0, "share": share}
        for (share, decays), parameters in parts.items()
    ]
    return OPTIMIZERS[config.optimizer](groups, config)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of this step: each part its share of it."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]


def scale_and_clip(parameters: Iterable[nn.Parameter], num_tokens: int, theta: float) -> float:
    """g <- g / num_tokens, then g <- min(1, theta / |g|) g in the same pass. Returns |g| before clipping."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients).item() / num_tokens
    clip = min(1.0, theta / norm) if theta and norm > 0 else 1.0
    if math.isfinite(norm):
        torch._foreach_mul_(gradients, clip / num_tokens)
    return norm


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's memory under the parameters' names, for a file without pickle."""
    return {
        f"{name}:{part}": tensor
        for name, parameter in model.named_parameters()
        for part, tensor in optimizer.state[parameter].items()
    }


def load_optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for key, tensor in tensors.items():
        name, _, part = key.rpartition(":")
        optimizer.state[parameters[name]][part] = tensor.to(parameters[name].device)
