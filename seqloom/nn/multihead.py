"""Multi-head attention:  head_n = softmax(Q_n K_n^T / sqrt(K)) V_n,   out = [head_1; ...; head_N] W_o.

Vaswani et al. 2017. Torch's fused kernel computes it; in training with bfloat16 on a CPU, nn/rounded_attention.py does.
With a trace the explicit product does, because the fused kernel does not return the attention weights; a test proves
that both are equal.

Keys and values come from `project_keys` and are passed to `forward`, so a caller can keep them between decoding steps:
see nn/key_value_cache.py.
"""

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.key_value_cache import KeysValues
from seqloom.nn.masks import masked_softmax
from seqloom.nn.rounded_attention import RoundedAttention, suits
from seqloom.nn.trace import Trace

Rotation = Complex[Tensor, "... T J"]  # e^(i angle) for each position and pair of entries (rotary positions)


class MultiHead(nn.Module):
    """Multi-head attention with N heads of width K = D / N."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(width, width)
        self.W_kv = nn.Linear(width, 2 * width)
        self.W_o = nn.Linear(width, width)

    def split(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B N T K"]:
        """Split the width into heads, D = N * K."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project_keys(self, x: Float[Tensor, "B S D"], rotation: Rotation | None = None) -> KeysValues:
        """Keys and values of x: what the key/value cache holds."""
        keys, values = self.W_kv(x).chunk(2, -1)
        return rotate(self.split(keys), rotation), self.split(values)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        kept: KeysValues,
        mask: Bool[Tensor, "... S"] | None,
        name: str = "",
        trace: Trace | None = None,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attention of queries from x to the `kept` keys and values of the same rows; mask broadcasts to (B,N,T,S)."""
        keys, values = kept
        queries = rotate(self.split(self.W_q(x)), rotation)
        if trace is None:
            pooled = fused_attention(queries, keys, values, mask)
        else:
            pooled = trace.record(name, attention_weights(queries, keys, mask)) @ values
        return self.W_o(pooled.transpose(1, 2).flatten(-2))  # (B, T, D)


def fused_attention(
    queries: Float[Tensor, "B N T K"],
    keys: Float[Tensor, "B N S K"],
    values: Float[Tensor, "B N S K"],
    mask: Bool[Tensor, "... S"] | None,
) -> Float[Tensor, "B N T K"]:
    """Attention by torch's fused kernel; on a CPU in float32 even under autocast."""
    if suits(queries, keys):
        pooled: Tensor = RoundedAttention.apply(queries, keys, values, mask)
        return pooled
    if not (queries.is_cpu and torch.is_autocast_enabled("cpu")):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    with torch.autocast("cpu", enabled=False):
        return F.scaled_dot_product_attention(queries.float(), keys.float(), values.float(), attn_mask=mask)


def rotate(x: Float[Tensor, "B N T K"], rotation: Rotation | None) -> Float[Tensor, "B N T K"]:
    """Rotate each pair (a, b) of entries, read as a complex number, by its angle:  (a + ib) e^(i angle)."""
    if rotation is None:
        return x
    wide = x.to(torch.promote_types(x.dtype, torch.float32))  # torch has no complex bfloat16
    return torch.view_as_real(torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * rotation).flatten(-2)


def attention_weights(
    queries: Float[Tensor, "B N T K"], keys: Float[Tensor, "B N S K"], mask: Bool[Tensor, "... S"] | None
) -> Float[Tensor, "B N T S"]:
    """alpha = softmax(Q K^T / sqrt(K)) by explicit products."""
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    everything = torch.ones(keys.shape[-2], dtype=torch.bool, device=scores.device)
    return masked_softmax(scores, everything if mask is None else mask)
