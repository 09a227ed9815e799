"""Low-rank adapters: a large matrix stays as it is, and two thin ones beside it learn.

y = W x + b + (alpha / r) B A x          A (r, I) by chance, B (O, r) zero at first: y begins as it was

merged: W + (alpha / r) B A, a plain matrix again.   Hu et al. 2022 (LoRA)
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.multihead import MultiHead

ALPHA = 16.0  # so that another rank needs no other learning rate
MATRICES = ("W_q", "W_kv", "W_o")


class Adapted(nn.Linear):
    """A linear layer under its old names, with `adapter_A` and `adapter_B` beside the matrix."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")  # its own matrix is never made
        self.weight, self.bias = linear.weight, linear.bias
        self.adapter_A = nn.Parameter(linear.weight.new_empty(rank, linear.in_features).normal_(std=rank**-0.5))
        self.adapter_B = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        self.scale = ALPHA / rank

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        return super().forward(x) + self.scale * F.linear(F.linear(x, self.adapter_A), self.adapter_B)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        plain = nn.Linear(self.in_features, self.out_features, device="meta")
        plain.weight, plain.bias = self.weight, self.bias
        plain.weight += self.scale * self.adapter_B @ self.adapter_A
        return plain


def attention_matrices(model: nn.Module) -> list[tuple[nn.Module, str, nn.Linear]]:
    """Where each matrix of attention is: its module, its name there, the layer."""
    found = [module for module in model.modules() if isinstance(module, MultiHead)]
    return [(module, name, getattr(module, name)) for module in found for name in MATRICES]


def add_adapters(model: nn.Module, rank: int) -> int:
    """An adapter beside every matrix of attention; how many there are."""
    matrices = attention_matrices(model)
    for module, name, linear in matrices:
        setattr(module, name, Adapted(linear, rank))
    return len(matrices)


def merge_adapters(model: nn.Module) -> None:
    """Plain matrices again, which say the same; a model without adapters stays as it is."""
    for module, name, layer in attention_matrices(model):
        if isinstance(layer, Adapted):
            setattr(module, name, layer.merged())
