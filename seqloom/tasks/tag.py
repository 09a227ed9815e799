"""Tagging: one tag per word, predicted at the last piece of the word (text/tags.py).

loss = - sum_j log p(y_j | x_1 .. x_m)     over the pieces that have a tag
"""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data.batch import lay_out
from seqloom.data.store import Store
from seqloom.tasks.encoder_task import EncoderTask, put_before
from seqloom.text.vocabulary import FIRST_WORD, PAD


class Tag(EncoderTask):
    def answers(self, store: Store, indices: NDArray[np.integer], src: Tensor) -> tuple[Tensor, Tensor]:
        tags = put_before(lay_out(*store.take("target", indices))[0], PAD)  # as long as src; EOS and PAD are not tags
        return tags, tags >= FIRST_WORD
