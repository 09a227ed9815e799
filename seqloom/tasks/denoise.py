"""Denoising: an encoder-decoder restores a text from a noisy version of it. Lewis et al. 2020 (BART).

    loss = - sum_t log p(x_t | x_<t, noise(x))

The noise is different each time a text is read. It is drawn from torch's generator, which the loop seeds from (seed,
step, part) before it loads a batch, so a resumed run draws the same noise.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from seqloom.data.batch import Batch, lay_out, shift_right
from seqloom.data.noise import infill, permute_sentences, sentence_ends
from seqloom.data.store import Store
from seqloom.tasks.translate import Translate


class Denoise(Translate):
    def __init__(self, hide: float, permute: bool) -> None:
        super().__init__()
        self.hide, self.permute = hide, permute
        self.ends = np.zeros(0, bool)

    def know_pieces(self, pieces: Sequence[str]) -> None:
        self.ends = sentence_ends(pieces)

    def load(self, store: Store, indices: Any) -> Batch:
        ids, lengths = store.take("source", indices)
        random = np.random.default_rng(int(torch.randint(2**62, ())))
        noised = permute_sentences(ids, lengths, self.ends, random) if self.permute else ids
        src, src_mask = lay_out(*infill(noised, lengths, self.hide, random))
        tgt_out, tgt_mask = lay_out(ids, lengths)
        return Batch(src, src_mask, shift_right(tgt_out), tgt_out, tgt_mask, torch.from_numpy(indices.astype(np.int64)))
