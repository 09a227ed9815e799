"""The numbers and names a recurrent encoder-decoder is built from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RecurrentSizes:
    cell: str
    attention: str  # none, or a name of SCORES
    decoder: str  # with attention: a name of DECODERS
    width: int  # H of the decoder
    encoder_width: int  # of an annotation: all directions side by side
    embed_size: int  # E
    encoder_layers: int
    decoder_layers: int
    directions: tuple[str, ...]  # forward, backward or both
    feed_context: bool
    maxout: int  # width of a maxout output layer; 0 = none
    tied: bool  # the output matrix is the table of the target's word vectors
    dropout: float

    @property
    def output_size(self) -> int:
        """D: what is compared with every word."""
        return self.maxout or (self.embed_size if self.tied else self.width)
