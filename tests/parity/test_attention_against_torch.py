"""Our attention against torch's fused kernel and modules by copying weights: values and gradients."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.blocks import DecoderBlock, EncoderBlock, Residual
from seqloom.nn.masks import causal_mask
from seqloom.nn.multihead import MultiHead, attention_weights
from seqloom.nn.trace import Trace

B, T, S, D, N, FFN = 3, 4, 5, 8, 2, 12
SOURCE_MASK = torch.arange(S) < torch.tensor([[5], [2], [1]])  # (B, S)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-8)


def random(*sizes: int) -> Tensor:
    return torch.randn(*sizes, dtype=torch.float64).requires_grad_()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("mask", [None, SOURCE_MASK[:, None, None], causal_mask(T, S)], ids=["all", "source", "causal"])
def test_the_explicit_product(mask: Tensor | None) -> None:
    inputs = [random(B, N, T, D // N), random(B, N, S, D // N), random(B, N, S, D // N)]
    queries, keys, values = inputs
    weights = attention_weights(queries, keys, mask)
    got = weights @ values
    want = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    close(got, want)
    close(weights @ inputs[2], want)
    for ours, theirs in zip(
        torch.autograd.grad((got**3).sum(), inputs), torch.autograd.grad((want**3).sum(), inputs), strict=True
    ):
        close(ours, theirs)


def copy_attention(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        for parameter in ours.parameters():
            nn.init.normal_(parameter, std=0.5)
        theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_kv.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.W_q.bias, ours.W_kv.bias]))
        theirs.out_proj.load_state_dict(ours.W_o.state_dict())


@pytest.mark.parametrize("trace", [None, Trace()], ids=["fused", "explicit"])
def test_multihead(trace: Trace | None) -> None:
    ours, theirs = MultiHead(D, N).double(), nn.MultiheadAttention(D, N, batch_first=True).double()
    copy_attention(ours, theirs)
    x, source = random(B, T, D), random(B, S, D)
    got = ours(x, ours.project_keys(source), SOURCE_MASK[:, None, None], "cross", trace)
    want, want_weights = theirs(x, source, source, key_padding_mask=~SOURCE_MASK, average_attn_weights=False)
    close(got, want)
    if trace is not None:
        close(trace["cross"][-1], want_weights)
    (got**2).sum().backward()
    (want**2).sum().backward()
    close(torch.cat([ours.W_q.weight.grad, ours.W_kv.weight.grad]), theirs.in_proj_weight.grad)
    close(ours.W_o.weight.grad, theirs.out_proj.weight.grad)


def copy_norms(*pairs: tuple[Residual, nn.LayerNorm]) -> None:
    for around, norm in pairs:
        nn.init.normal_(around.norm.weight)
        nn.init.normal_(around.norm.bias)
        norm.load_state_dict(around.norm.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_encoder_block(norm: str) -> None:
    ours = EncoderBlock(D, N, FFN, 0.0, norm).double()
    theirs = nn.TransformerEncoderLayer(D, N, FFN, 0.0, batch_first=True, norm_first=norm == "pre").double()
    copy_attention(ours.attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.W_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.W_2.state_dict())
    copy_norms((ours.around_attention, theirs.norm1), (ours.around_feed_forward, theirs.norm2))
    x = random(B, S, D)
    got = ours(x, SOURCE_MASK[:, None, None], "encoder.self.0")
    close(got[SOURCE_MASK], theirs(x, src_key_padding_mask=~SOURCE_MASK)[SOURCE_MASK])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block(norm: str) -> None:
    ours = DecoderBlock(D, N, FFN, 0.0, norm).double()
    theirs = nn.TransformerDecoderLayer(D, N, FFN, 0.0, batch_first=True, norm_first=norm == "pre").double()
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross, theirs.multihead_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.W_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.W_2.state_dict())
    copy_norms(
        (ours.around_attention, theirs.norm1),
        (ours.around_cross, theirs.norm2),
        (ours.around_feed_forward, theirs.norm3),
    )
    x, source = random(B, T, D), random(B, S, D)
    got, _ = ours(x, None, ours.cross.project_keys(source), SOURCE_MASK[:, None, None], 0, None)
    want = theirs(x, source, tgt_mask=~causal_mask(T, T), memory_key_padding_mask=~SOURCE_MASK)
    close(got, want)
