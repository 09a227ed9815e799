"""Encoder-only models (readers): an encoder and one linear layer that predicts a label per text or per position.

    h_1 .. h_S = encoder(x)                        a Transformer (BERT), a recurrent network, or the word vectors alone
    logits_j = W dropout(h_j) + b                  per position: a tag, or a masked word
    logits   = W dropout(mean_j h_j) + b           one label for the whole text

Why the mean over all positions and not one state: the gradient then reaches every word directly, however long the text
is; the last states of two directions lie at opposite ends of the text; and BERT's first position carries no information
about the text until it is trained to. Encoder weights have the same names as in an encoder-decoder, so one can be
initialised from the other.
"""

import math
from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.models.api import Reader
from seqloom.models.transformer_encoder import TransformerEncoder, TransformerSizes, initialise
from seqloom.nn.dropout import Dropout
from seqloom.nn.embed import Output, make_table
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.trace import Trace, part_of


def mean_over(h: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B 1 D"]:
    """Mean over the positions of each row, without padding."""
    real = mask[..., None]
    return h.masked_fill(~real, 0.0).sum(1, keepdim=True) / real.sum(1, keepdim=True)


class TransformerReader(Reader, TransformerEncoder):
    """BERT: bidirectional self-attention. Devlin et al. 2019. `tied`: the output matrix is the embedding table."""

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        sizes: TransformerSizes,
        *,
        layers: int,
        whole_text: bool,
        tied: bool,
    ) -> None:
        super().__init__()
        self.target_vocab_size, self.whole_text = target_vocab_size, whole_text
        self.add_encoder(sizes, make_table(source_vocab_size, sizes.width), layers)
        self.output = Output(sizes.width, target_vocab_size, self.source_table if tied else None)
        initialise(self, sizes)

    def hidden(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        h = self.read_source(tokens, mask, trace)
        return self.dropout(mean_over(h, mask) if self.whole_text else h)


class RecurrentReader(Reader):
    """Recurrent encoder:  h_j = [f(h_{j-1}, x_j); g(h_{j+1}, x_j)], or one direction. Graves and Schmidhuber 2005."""

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        *,
        cell: str,
        embed_size: int,
        width: int,
        layers: int,
        directions: Sequence[str],
        dropout: float,
        whole_text: bool,
        tied: bool,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        self.target_vocab_size, self.whole_text = target_vocab_size, whole_text
        self.embed_scale = math.sqrt(embed_size) if scaled else 1.0
        self.source_table = make_table(source_vocab_size, embed_size)
        self.encoder = Recurrent(cell, embed_size, width, layers, directions, dropout)
        compared = tied and width != embed_size  # the output matrix is a table of vectors of another width
        self.readout = nn.Linear(width, embed_size) if compared else nn.Identity()
        self.output = Output(embed_size if tied else width, target_vocab_size, self.source_table if tied else None)
        self.dropout = Dropout(dropout)

    def hidden(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        embedded = self.dropout(self.source_table(tokens) * self.embed_scale)
        h, _ = self.encoder(embedded, mask, part_of(trace, "encoder"))
        return self.dropout(mean_over(h, mask) if self.whole_text else h)

    def before_output(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch E"]:
        return self.readout(hidden)


class BagReader(Reader):
    """Bag of words:  logits = W mean_j E[x_j] + b, ignoring word order. Joulin et al. 2017, without n-grams."""

    def __init__(self, source_vocab_size: int, target_vocab_size: int, embed_size: int, dropout: float) -> None:
        super().__init__()
        self.target_vocab_size = target_vocab_size
        self.source_table = make_table(source_vocab_size, embed_size)
        self.output = Output(embed_size, target_vocab_size, None)
        self.dropout = Dropout(dropout)

    def hidden(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        return self.dropout(mean_over(self.source_table(tokens), mask))
