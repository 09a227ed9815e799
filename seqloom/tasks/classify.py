"""Classification: one label for a whole text.

loss = - log p(y | x_1 .. x_m)
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data.store import Store
from seqloom.tasks.encoder_task import EncoderTask


class Classify(EncoderTask):
    def answers(self, store: Store, indices: NDArray[np.integer], src: Tensor) -> tuple[Tensor, Tensor]:
        labels = torch.from_numpy(store.take("target", indices)[0].astype(np.int64))[:, None]  # (B, 1)
        return labels, torch.ones_like(labels, dtype=torch.bool)
