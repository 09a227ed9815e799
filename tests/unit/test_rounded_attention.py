"""Attention of training in bfloat16: values and gradients beside those of float64, and when it is used."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from seqloom.nn import rounded_attention
from seqloom.nn.masks import causal_mask
from seqloom.nn.multihead import fused_attention
from seqloom.nn.rounded_attention import RoundedAttention, suits
from seqloom.training.precision import products_in

B, N, T, S, K = 3, 2, 7, 7, 16
CPU = torch.device("cpu")
PADDED = torch.arange(S) < torch.tensor([[7], [2], [1]])  # (B, S)
MASKS = {"all": None, "source": PADDED[:, None, None], "causal": causal_mask(T, S)}


def inputs(dtype: torch.dtype = torch.float32) -> list[Tensor]:
    torch.manual_seed(1)
    return [torch.randn(B, N, length, K).to(dtype).requires_grad_() for length in (T, S, S)]


def values_and_gradients(found: Tensor, given: list[Tensor]) -> list[Tensor]:
    weights = torch.linspace(-1, 1, found.numel()).view(found.shape)  # every entry of dO is another
    return [found, *torch.autograd.grad((found.double() * weights).sum(), given)]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_right_to_eight_bits(mask: Tensor | None, dtype: torch.dtype) -> None:
    given = inputs(dtype)
    with products_in("bfloat16", CPU):
        found = values_and_gradients(RoundedAttention.apply(*given, mask), given)
    exact = [tensor.detach().double().requires_grad_() for tensor in given]
    wanted = values_and_gradients(F.scaled_dot_product_attention(*exact, attn_mask=mask), exact)
    assert [tensor.dtype for tensor in found] == [torch.bfloat16, dtype, dtype, dtype]
    for ours, right in zip(found, wanted, strict=True):
        assert (ours.double() - right).norm() < 0.02 * right.norm()


def test_hidden_keys_get_no_gradient() -> None:
    given = inputs()
    with products_in("bfloat16", CPU):
        _, _, d_keys, d_values = values_and_gradients(RoundedAttention.apply(*given, MASKS["source"]), given)
    hidden = ~PADDED[:, None, :, None].expand(B, N, S, K)
    assert not d_keys[hidden].any() and not d_values[hidden].any()
    assert d_keys[~hidden].any() and d_values[~hidden].any()


def test_it_is_used_in_training_with_bfloat16_only(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, keys, values = inputs()
    assert fused_attention(queries, keys, values, None).dtype == torch.float32
    assert not suits(queries, keys)
    with products_in("bfloat16", CPU):
        assert suits(queries, keys)
        assert fused_attention(queries, keys, values, None).dtype == torch.bfloat16
        with torch.no_grad():
            assert fused_attention(queries, keys, values, None).dtype == torch.float32
        monkeypatch.setattr(rounded_attention, "MOST_WEIGHTS", B * N * T * S - 1)  # weights too many to be kept
        assert fused_attention(queries, keys, values, None).dtype == torch.float32
