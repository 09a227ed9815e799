"""CBOW: the words around a place predict the word there. J of word2vec.py with their mean h in the place of v.

    mean       h = a V_around  (L, E),  a = near / n, n words near each; a word with none near is not predicted
    wrong      g = sigma(h . u_word) - 1  (L, 1)       k = K / M * sigma(h U_noise^T)  (L, M)
    gradients  dh = g u_word + k U_noise,  dV_around = a^T dh     dU_words = g h     dU_noise = k^T h

The gradient is divided by n as the mean is; word2vec.c leaves that out (Irsoy et al. 2021), so our step is larger.
"""

from typing import TYPE_CHECKING

from seqloom.vectors.windows import Gradients, Windows

if TYPE_CHECKING:
    from torch import Tensor


def means(windows: Windows, v: "Tensor") -> "tuple[Tensor, Tensor, Tensor]":
    """h, a, and 1 for each word that has another near (B, L, 1)."""
    from torch.nn.functional import embedding

    n = windows.near.sum(2, keepdim=True)
    a = windows.near / n.clamp(min=1)
    return a @ embedding(windows.around, v), a, n.clamp(max=1)


def cbow_loss(windows: Windows, v: "Tensor", u: "Tensor", negative: int) -> "tuple[Tensor, Tensor]":
    """The sum of J over all words that have another near, and how many they are."""
    from torch.nn.functional import embedding, logsigmoid

    h, _, asked = means(windows, v)
    s = (h * embedding(windows.words, u)).sum(2, keepdim=True)
    z = h @ embedding(windows.noise, u).mT
    return -(asked * (logsigmoid(s) + negative * logsigmoid(-z).mean(2, keepdim=True))).sum(), asked.sum()


def cbow_gradients(windows: Windows, v: "Tensor", u: "Tensor", negative: int) -> Gradients:
    """Those of the loss above, for the rows of v and of u that the batch names."""
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
