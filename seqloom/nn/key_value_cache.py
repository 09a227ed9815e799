"""Key/value cache of a Transformer decoder: the attention keys and values of all positions read so far.

A decoding step computes keys and values for its new positions only (`MultiHead.project_keys`) and attends to those in
the cache too. The models keep two caches. `past`, in `State`, holds the positions of one hypothesis. `source`, in
`Memory`, holds the positions of the source, once per sentence and shared by its hypotheses.
"""

import torch
from jaxtyping import Float
from torch import Tensor

KeysValues = tuple[Float[Tensor, "B N S K"], Float[Tensor, "B N S K"]]  # keys and values of one layer
Past = tuple[Float[Tensor, "R N _ K"], Float[Tensor, "R N _ K"]]  # the same of one hypothesis; grows with every step


def extend(past: Past | None, new: Past) -> Past:
    """Append the keys and values of the new positions to the cache."""
    if past is None:
        return new
    return torch.cat([past[0], new[0]], 2), torch.cat([past[1], new[1]], 2)
