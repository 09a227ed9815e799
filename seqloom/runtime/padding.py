"""Rows of ids -> one grid."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.text.vocabulary import PAD


def padded(rows: Iterable[Sequence[int]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """(B, S) with PAD behind the shorter rows, and the mask of what is none; ids of texts are never PAD."""
    grid = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD).to(device)
    return grid, grid != PAD
