"""A trained model as a plain torch module, for your own training step or experiment.

    module = seqloom.load("runs/x").module
    logits = module(source_ids, target_ids)               # (B,S), (B,T) -> (B,T,V)

    source_ids = x_1 .. x_m </s>,   target_ids = <s> y_1 .. y_n,   logits[:, t] = scores of y_{t+1}

Ids are padded with 0. Models that read and do not write (a classifier, a tagger, BERT) and language models take one
argument: module(ids). `module.batch(texts, targets)` makes the ids of texts.
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from seqloom.config import SHAPES, TASKS, Config
from seqloom.errors import UsageError
from seqloom.models.api import LanguageModel, Reader, Seq2Seq
from seqloom.runtime.inputs import encode_texts
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD


class PlainModule(nn.Module):
    """A model of Seqloom as any torch module: `forward` gives logits, `parameters` are the trained weights."""

    def __init__(self, network: Seq2Seq | Reader, tokenizers: Tokenizers, config: Config) -> None:
        super().__init__()
        self.network = network
        self.tokenizers, self.config = tokenizers, config
        self.shape = SHAPES[TASKS[config.task.name].shape]

    def forward(self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"] | None = None) -> Float[Tensor, "B _ V"]:
        """The logits of the next token after each target token, or of the answer at each place of a single text."""
        if self.shape.translates != (target is not None):
            wanted = "module(source_ids, target_ids)" if self.shape.translates else "module(ids)"
            raise UsageError(f"a model trained for {self.config.task.name!r} wants {wanted}")
        network = self.network
        if target is not None:
            assert isinstance(network, Seq2Seq)
            return network.project(network.hidden(target, network.encode(source, source != PAD)))
        if isinstance(network, LanguageModel):
            return network.project(network.read(source, network.begin(len(source)))[0])
        assert isinstance(network, Reader)
        return network.project(network.hidden(source, source != PAD))

    def batch(self, texts: Sequence[str], targets: Sequence[str] | None = None) -> tuple[Tensor, ...]:
        """The ids of texts, padded with 0: (source, target, wanted) of pairs, (ids, wanted) of running text, or (ids,).

        `wanted` holds the tokens that the logits predict; give 0 as ignore_index to a loss.
        """
        normalise, device = self.config.data.normalise, next(self.network.parameters()).device
        sources = encode_texts(texts, self.tokenizers.source, normalise)
        if isinstance(self.network, LanguageModel) and not self.shape.translates:
            inputs, wanted = ([[EOS, *ids] for ids in sources], [[*ids, EOS] for ids in sources])
            return pad(inputs, device), pad(wanted, device)
        if not self.shape.translates:
            return (pad(([BOS, *ids, EOS] for ids in sources), device),)
        if targets is None or len(targets) != len(texts):
            raise UsageError(f"{len(texts)} sources and {len(targets or ())} targets: want one target for each source")
        written = encode_texts(targets, self.tokenizers.target, normalise)
        rows = ([*ids, EOS] for ids in sources), ([BOS, *ids] for ids in written), ([*ids, EOS] for ids in written)
        source, target, wanted_ids = (pad(row, device) for row in rows)
        return source, target, wanted_ids


def pad(rows: Iterable[Sequence[int]], device: torch.device | str) -> Int[Tensor, "B S"]:
    """(B, S) with PAD behind the shorter rows; ids of texts are never PAD."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD).to(device)
