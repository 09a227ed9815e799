"""Multi-head attention:  head_n = softmax(Q_n K_n^T / sqrt(K)) V_n,   out = [head_1; ...; head_N] W_o.

Vaswani et al. 2017. The fused kernel computes it; with a trace the explicit product does (a test proves both equal),
because no fused kernel returns its weights.
"""

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.masks import masked_softmax
from seqloom.nn.trace import Trace

KeysValues = tuple[Float[Tensor, "B N S K"], Float[Tensor, "B N S K"]]
Turn = Complex[Tensor, "... T J"]  # e^(i angle) of each place and pair of entries


class MultiHead(nn.Module):
    """N heads of width K = D / N. `project_keys` and `forward` are apart, so that keys are made once and kept."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(width, width)
        self.W_kv = nn.Linear(width, 2 * width)
        self.W_o = nn.Linear(width, width)

    def split(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B N T K"]:
        """D = N * K: each head its part."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project_keys(self, x: Float[Tensor, "B S D"], turn: Turn | None = None) -> KeysValues:
        keys, values = self.W_kv(x).chunk(2, -1)
        return rotate(self.split(keys), turn), self.split(values)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        kept: KeysValues,
        mask: Bool[Tensor, "... S"] | None,
        name: str = "",
        trace: Trace | None = None,
        turn: Turn | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Queries from x against keys and values kept of the same B rows; mask broadcasts to (B,N,T,S)."""
        keys, values = kept
        queries = rotate(self.split(self.W_q(x)), turn)
        if trace is None:
            pooled = fused_attention(queries, keys, values, mask)
        else:
            pooled, weights = attention(queries, keys, values, mask)
            trace.record(name, weights)
        return self.W_o(pooled.transpose(1, 2).flatten(-2))  # (B, T, D)


def fused_attention(
    queries: Float[Tensor, "B N T K"],
    keys: Float[Tensor, "B N S K"],
    values: Float[Tensor, "B N S K"],
    mask: Bool[Tensor, "... S"] | None,
) -> Float[Tensor, "B N T K"]:
    """In float32 on a CPU, also under autocast: the kernel's backward pass is eight times slower in bfloat16 there."""
    if not (queries.is_cpu and torch.is_autocast_enabled("cpu")):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    with torch.autocast("cpu", enabled=False):
        return F.scaled_dot_product_attention(queries.float(), keys.float(), values.float(), attn_mask=mask)


def rotate(x: Float[Tensor, "B N T K"], turn: Turn | None) -> Float[Tensor, "B N T K"]:
    """Each pair (a, b) of entries is a complex number, turned by its angle:  (a + ib) e^(i angle)."""
    if turn is None:
        return x
    wide = x.to(torch.promote_types(x.dtype, torch.float32))  # no complex numbers of bfloat16
    return torch.view_as_real(torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * turn).flatten(-2)


def attention(
    queries: Float[Tensor, "B N T K"],
    keys: Float[Tensor, "B N S K"],
    values: Float[Tensor, "B N S K"],
    mask: Bool[Tensor, "... S"] | None,
) -> tuple[Float[Tensor, "B N T K"], Float[Tensor, "B N T S"]]:
    """The explicit product: pooled values and the weights."""
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    everything = torch.ones(keys.shape[-2], dtype=torch.bool, device=scores.device)
    weights = masked_softmax(scores, everything if mask is None else mask)
    return weights @ values, weights
