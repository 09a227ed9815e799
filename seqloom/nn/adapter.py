"""Low-rank adapters (LoRA): a large weight matrix is frozen and two thin matrices beside it are trained.

y = W x + b + (alpha / r) B A x          A (r, I) random, B (O, r) zero: at first y is that of the plain layer

After merging, W + (alpha / r) B A is a plain matrix again.   Hu et al. 2022 (LoRA)
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.multihead import MultiHead

ALPHA = 16.0  # divided by the rank, so that every rank can use the same learning rate
MATRICES = ("W_q", "W_kv", "W_o")


class Adapted(nn.Linear):
    """Linear layer with a low-rank adapter: `weight` and `bias` keep their names; `adapter_A` and `adapter_B` learn."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")  # allocates no matrix of its own
        self.weight, self.bias = linear.weight, linear.bias
        self.adapter_A = nn.Parameter(linear.weight.new_empty(rank, linear.in_features).normal_(std=rank**-0.5))
        self.adapter_B = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        self.scale = ALPHA / rank

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        return super().forward(x) + self.scale * F.linear(F.linear(x, self.adapter_A), self.adapter_B)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The plain linear layer that computes the same."""
        plain = nn.Linear(self.in_features, self.out_features, device="meta")
        plain.weight, plain.bias = self.weight, self.bias
        plain.weight += self.scale * self.adapter_B @ self.adapter_A
        return plain


def attention_matrices(model: nn.Module) -> list[tuple[nn.Module, str, nn.Linear]]:
    """All projections of all attention layers, each as (module, attribute name, linear layer)."""
    found = [module for module in model.modules() if isinstance(module, MultiHead)]
    return [(module, name, getattr(module, name)) for module in found for name in MATRICES]


def add_adapters(model: nn.Module, rank: int) -> int:
    """Add an adapter to every projection of every attention layer, none of rank 0; returns how many were added."""
    matrices = attention_matrices(model) if rank else []
    for module, name, linear in matrices:
        setattr(module, name, Adapted(linear, rank))
    return len(matrices)


def merge_adapters(model: nn.Module) -> None:
    """Merge every adapter into its matrix: same outputs, no adapters left. A model without adapters is unchanged."""
    for module, name, layer in attention_matrices(model):
        if isinstance(layer, Adapted):
            setattr(module, name, layer.merged())
