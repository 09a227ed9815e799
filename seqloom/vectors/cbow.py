"""CBOW: the context words predict the word between them. J of word2vec.py with their mean h instead of v.

    mean       h = a V_around  (L, E),  a = near / n, n context words each; a word without context is not predicted
    wrong      g = sigma(h . u_word) - 1  (L, 1)       k = K / M * sigma(h U_noise^T)  (L, M)
    gradients  dh = g u_word + k U_noise,  dV_around = a^T dh     dU_words = g h     dU_noise = k^T h

The gradient is divided by n, as the mean is; word2vec.c omits this (Irsoy et al. 2021), so our learning rate is larger.
"""

from typing import TYPE_CHECKING

from seqloom.vectors.context_windows import Gradients, Windows

if TYPE_CHECKING:
    from torch import Tensor


def means(windows: Windows, v: "Tensor") -> "tuple[Tensor, Tensor, Tensor]":
    """h, a, and for each word 1 if it has context words, else 0 (B, L, 1)."""
    from torch.nn.functional import embedding

    n = windows.near.sum(2, keepdim=True)
    a = windows.near / n.clamp(min=1)
    return a @ embedding(windows.around, v), a, n.clamp(max=1)


def cbow_loss(windows: Windows, v: "Tensor", u: "Tensor", negative: int) -> "tuple[Tensor, Tensor]":
    """The sum of J over all words with context, and the number of these words."""
    from torch.nn.functional import embedding, logsigmoid

    h, _, asked = means(windows, v)
    s = (h * embedding(windows.words, u)).sum(2, keepdim=True)
    z = h @ embedding(windows.noise, u).mT
    return -(asked * (logsigmoid(s) + negative * logsigmoid(-z).mean(2, keepdim=True))).sum(), asked.sum()


def cbow_gradients(windows: Windows, v: "Tensor", u: "Tensor", negative: int) -> Gradients:
    """The gradients of the loss above, for the rows of v and u that the batch uses."""
    from torch.nn.functional import embedding

    h, a, asked = means(windows, v)
    U_words, U_noise = embedding(windows.words, u), embedding(windows.noise, u)
    g = (h * U_words).sum(2, keepdim=True).neg_().sigmoid_().mul_(asked).neg_()
    k = (h @ U_noise.mT).sigmoid_().mul_(asked * (negative / U_noise.shape[1]))
    dh = (g * U_words).baddbmm_(k, U_noise)
    return Gradients(
        [(windows.around, a.mT @ dh)],
        [(windows.words, g * h), (windows.noise, k.mT @ h)],
    )
