"""Attention scores (how well a query matches a key) and attention pooling over their softmax.

Every score computes its keys once per sentence (`project_keys`) and compares them with W queries per sentence in each
step. `linear(x, M)` is x M^T; a loop over time passes in its own, which computes the gradients of all steps in one
product (nn/late_weight_gradients.py).
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqloom.errors import UsageError
from seqloom.nn.cells import Linear
from seqloom.nn.late_weight_gradients import multiply
from seqloom.nn.masks import masked_softmax
from seqloom.nn.tanh import tanh
from seqloom.nn.trace import Trace

KeysAndSizes = tuple[Float[Tensor, "B S H"], Float[Tensor, "B S"]]


class Score(nn.Module):
    """Base class of the scores. Keys are a tensor or a nest of tensors, one row per sentence."""

    entrywise = False  # whether query and key must have the same width

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__()

    def project_keys(self, annotations: Float[Tensor, "B S C"]) -> Any:
        return annotations

    def forward(self, query: Float[Tensor, "B W Q"], keys: Any, linear: Linear = multiply) -> Float[Tensor, "B W S"]:
        raise NotImplementedError


class EntrywiseScore(Score):
    """Base class of scores without weights: query and key must be equally wide."""

    entrywise = True

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__(query_size, key_size, width)
        if query_size != key_size:
            raise UsageError(
                f"this score compares query and key entry by entry, but they have {query_size} and {key_size} entries; "
                "make both equally wide, or use the bilinear or the additive score"
            )


class DotScore(EntrywiseScore):
    """Dot-product score:  score(q, k) = q . k      Luong et al. 2015."""

    def forward(
        self, query: Float[Tensor, "B W H"], keys: Float[Tensor, "B S H"], linear: Linear = multiply
    ) -> Float[Tensor, "B W S"]:
        return linear(query, keys)


class ScaledDotScore(EntrywiseScore):
    """Scaled dot-product score:  score(q, k) = q . k / sqrt(H), of variance 1 at any width.   Vaswani et al. 2017."""

    def forward(
        self, query: Float[Tensor, "B W H"], keys: Float[Tensor, "B S H"], linear: Linear = multiply
    ) -> Float[Tensor, "B W S"]:
        return linear(query / query.shape[-1] ** 0.5, keys)


class GaussianScore(EntrywiseScore):
    """Gaussian kernel score, as in kernel regression.   Nadaraya 1964, Watson 1964.

    score(q, k) = -|q - k|^2 / 2 = q . k - |q|^2 / 2 - |k|^2 / 2
    """

    def project_keys(self, annotations: Float[Tensor, "B S H"]) -> KeysAndSizes:
        return annotations, half_square(annotations)

    def forward(
        self, query: Float[Tensor, "B W H"], keys: KeysAndSizes, linear: Linear = multiply
    ) -> Float[Tensor, "B W S"]:
        k, size = keys
        return linear(query, k) - half_square(query)[:, :, None] - size[:, None]


def half_square(x: Float[Tensor, "*batch H"]) -> Float[Tensor, "*batch"]:
    """|x|^2 / 2"""
    return x.square().sum(-1) / 2


class BilinearScore(Score):
    """Bilinear score:  score(q, k) = q^T M k / sqrt(Q)      Luong et al. 2015 ("general").

    Without the division scores soon grow too large: one update of Adam changes all entries of M at once, and a score by
    the sum of these changes. The softmax then saturates on one word, and its gradient vanishes.
    """

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__(query_size, key_size, width)
        self.M = nn.Linear(key_size, query_size, bias=False)

    def project_keys(self, annotations: Float[Tensor, "B S C"]) -> Float[Tensor, "B S Q"]:
        """M k / sqrt(Q), once per sentence."""
        return self.M(annotations) / self.M.out_features**0.5

    def forward(
        self, query: Float[Tensor, "B W Q"], keys: Float[Tensor, "B S Q"], linear: Linear = multiply
    ) -> Float[Tensor, "B W S"]:
        return linear(query, keys)


class AdditiveScore(Score):
    """Additive score:  score(q, k) = w^T tanh(W_q q + W_k k + b)      Bahdanau et al. 2015."""

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__(query_size, key_size, width)
        self.W_q = nn.Linear(query_size, width, bias=False)
        self.W_k = nn.Linear(key_size, width)
        self.w = nn.Parameter(torch.empty(width).uniform_(-(width**-0.5), width**-0.5))

    def project_keys(self, annotations: Float[Tensor, "B S C"]) -> Float[Tensor, "B S A"]:
        """W_k k + b, once per sentence."""
        return self.W_k(annotations)

    def forward(
        self, query: Float[Tensor, "B W Q"], keys: Float[Tensor, "B S A"], linear: Linear = multiply
    ) -> Float[Tensor, "B W S"]:
        return tanh(linear(query, self.W_q.weight)[:, :, None] + keys[:, None]) @ self.w


SCORES: dict[str, type[Score]] = {
    "dot": DotScore,
    "scaled_dot": ScaledDotScore,
    "gaussian": GaussianScore,
    "bilinear": BilinearScore,
    "additive": AdditiveScore,
}


def attend(
    scores: Float[Tensor, "B W S"],
    values: Float[Tensor, "B S H"],
    mask: Bool[Tensor, "B S"],
    linear: Linear = multiply,
    trace: Trace | None = None,
) -> Float[Tensor, "B W H"]:
    """Attention pooling:  c = sum_j alpha_j v_j,  alpha = softmax(score(q, k)).

    A soft lookup: a table returns the value whose key equals the query; attention returns the mean of all values,
    weighted by how well each key matches. The sharper the scores, the closer it is to a plain lookup.
    """
    alpha = masked_softmax(scores, mask[:, None])
    if trace is not None:
        alpha = trace.record("attention", alpha)
    return linear(alpha, values.mT)
