"""Base of the tasks of encoder-only models: the layout of a batch, and the loss at the positions with an answer.

src       BOS x1 .. xm EOS PAD
tgt_out   the answers: (B,1), or as long as src
tgt_mask  the positions with an answer

loss = - sum_i log p(y_i | x)     over the positions of tgt_mask; special tokens such as <pad> have probability 0
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.data.batch import Batch, lay_out
from seqloom.data.store import Store
from seqloom.models.api import Reader
from seqloom.nn.loss import Loss
from seqloom.tasks.api import Task, token_loss
from seqloom.text.vocabulary import BOS, FIRST_WORD


class EncoderTask(Task):
    def load(self, store: Store, indices: NDArray[np.integer]) -> Batch:
        ended, real = lay_out(*store.take("source", indices))
        src, src_mask = put_before(ended, BOS), put_before(real, True)
        tgt_out, tgt_mask = self.answers(store, indices, src)
        nothing = src[:, :0]  # there is no decoder that could read it
        return Batch(src, src_mask, nothing, tgt_out, tgt_mask, torch.from_numpy(indices.astype(np.int64)))

    def answers(self, store: Store, indices: NDArray[np.integer], src: Tensor) -> tuple[Tensor, Tensor]:
        """(tgt_out, tgt_mask) of these records."""
        raise NotImplementedError

    def loss(self, model: nn.Module, batch: Batch, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        assert isinstance(model, Reader)
        hidden = model.hidden(batch.src, batch.src_mask)[batch.tgt_mask]  # (M, D): other positions are not projected
        compared = model.before_output(hidden)
        return token_loss(model, compared, batch.tgt_out[batch.tgt_mask], smoothing, FIRST_WORD)


def put_before(rows: Tensor, first: int | bool) -> Tensor:
    """Add a first column: (B, S) -> (B, 1 + S)."""
    return F.pad(rows, (1, 0), value=first)
