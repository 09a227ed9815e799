"""Optimizers. Learning rate and warm-up: schedules.py; a rate per part: part_rates.py; gradient_clipping.py."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.config import TrainConfig
from seqloom.training.part_rates import rates_of


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


def make_optimizer(
    model: nn.Module, config: TrainConfig, is_own: Callable[[nn.Parameter], bool] = lambda parameter: True
) -> torch.optim.Optimizer:
    """Make the optimizer: weight decay for matrices only, a learning rate per part, frozen tensors left out.

    is_own: whether this process updates a parameter; others update the rest.
    """
    parts: dict[tuple[float, bool], list[nn.Parameter]] = {(1.0, True): [], (1.0, False): []}
    rates = rates_of(model, config.rates)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and is_own(parameter):
            parts.setdefault((rates.get(name, 1.0), parameter.ndim > 1), []).append(parameter)
    groups = [
        {"params": parameters, "weight_decay": config.weight_decay if decays else 0.0, "share": share}
        for (share, decays), parameters in parts.items()
    ]
    return OPTIMIZERS[config.optimizer](groups, config)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of this step; each part gets its share of it."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimizer's state under the parameters' names, for a file without pickle."""
    return {
        f"{name}:{part}": tensor
        for name, parameter in model.named_parameters()
        for part, tensor in optimizer.state[parameter].items()
    }


def load_optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for key, tensor in tensors.items():
        name, _, part = key.rpartition(":")
        if name not in parameters or tensor.numel() not in (1, parameters[name].numel()):
            raise ValueError(f"{key} of shape {[*tensor.shape]} in the state of the optimizer")
        optimizer.state[parameters[name]][part] = tensor.to(parameters[name].device)
