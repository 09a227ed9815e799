"""Reversal of padded sequences, for layers that read backwards; alone, such a layer is source reversal.

Source reversal (`data.reverse_source`): the encoder reads the first words of the source last, just before the decoder
writes the first words of the target. Sutskever et al. 2014.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def reverse_within(x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
    """Reverse each sequence and leave its right padding in place."""
    T = x.shape[1]
    positions = torch.arange(T, device=x.device)
    lengths = mask.sum(1, keepdim=True)
    index = torch.where(positions < lengths, lengths - 1 - positions, positions)  # (B, T)
    return x.gather(1, index[..., None].expand_as(x))
