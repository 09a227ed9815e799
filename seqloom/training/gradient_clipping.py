"""Gradient clipping: an update never follows a gradient longer than `train.clip_norm`. Pascanu et al. 2013.

g <- min(1, theta / |g|) g,        |g| over all parameters
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn


def scale_and_clip(
    parameters: Iterable[nn.Parameter], num_tokens: int, theta: float, norms: Tensor | None = None
) -> float:
    """g <- g / num_tokens, then g <- min(1, theta / |g|) g in the same pass. Returns |g| before clipping.

    norms: those of the single gradients, when other processes have some of them.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = torch.nn.utils.get_total_norm(gradients) if norms is None else torch.linalg.vector_norm(norms)
    norm = total.item() / num_tokens
    clip = min(1.0, theta / norm) if theta and norm > 0 else 1.0
    if math.isfinite(norm) and gradients:
        torch._foreach_mul_(gradients, clip / num_tokens)
    return norm


def advise_clip_norm(now: float) -> str:
    """What to try when training diverges."""
    return f"a lower train.clip_norm (now {now:g})" if now else "train.clip_norm=1 (now 0: nothing is clipped)"


def describe_clipping(clipped: int, steps: int, theta: float) -> str:
    """Describe how often the gradient was longer than train.clip_norm; empty if nothing is clipped."""
    share = clipped / max(1, steps)
    return f". The gradient was clipped to {theta:g} in {share:.0%} of the steps" if theta else ""
