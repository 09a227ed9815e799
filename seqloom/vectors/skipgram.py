"""Skip-gram: a word predicts its context words. J of word2vec.py, summed over all pairs of a batch of blocks.

scores     s = V_words U_around^T  (L, C)        z = V_words U_noise^T  (L, M)
wrong      g = near * (sigma(s) - 1)             h = K / M * n * sigma(z),  n context words each
gradients  dV_words = g U_around + h U_noise     dU_around = g^T V_words     dU_noise = h^T V_words
"""

from typing import TYPE_CHECKING

from seqloom.vectors.context_windows import Gradients, Windows

if TYPE_CHECKING:
    from torch import Tensor


def skip_gram_loss(windows: Windows, v: "Tensor", u: "Tensor", negative: int) -> "tuple[Tensor, Tensor]":
    """The sum of J over all pairs, and the number of pairs."""
    from torch.nn.functional import embedding, logsigmoid

    V_words = embedding(windows.words, v)
    s = V_words @ embedding(windows.around, u).mT
    z = V_words @ embedding(windows.noise, u).mT
    n = windows.near.sum(2)
    return -(windows.near * logsigmoid(s)).sum() - negative * (n * logsigmoid(-z).mean(2)).sum(), n.sum()


def skip_gram_gradients(windows: Windows, v: "Tensor", u: "Tensor", negative: int) -> Gradients:
    """The gradients of the loss above, for the rows of v and u that the batch uses."""
    from torch.nn.functional import embedding

    V_words, U_around, U_noise = embedding(windows.words, v), embedding(windows.around, u), embedding(windows.noise, u)
    n = windows.near.sum(2, keepdim=True)  # (B, L, 1)
    g = (V_words @ U_around.mT).neg_().sigmoid_().mul_(windows.near).neg_()  # sigma(s) - 1 = -sigma(-s)
    h = (V_words @ U_noise.mT).sigmoid_().mul_(n * (negative / U_noise.shape[1]))
    dV_words = (g @ U_around).baddbmm_(h, U_noise)
    return Gradients(
        [(windows.words, dV_words)],
        [(windows.around, g.mT @ V_words), (windows.noise, h.mT @ V_words)],
    )
