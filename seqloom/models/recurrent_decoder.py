"""Base of the recurrent decoders: their sizes and, for those with attention, the score and the context vector."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from seqloom.models.api import Memory
from seqloom.nn.cells import Linear
from seqloom.nn.late_weight_gradients import unrounded
from seqloom.nn.scores import SCORES, attend
from seqloom.nn.trace import Trace


@dataclass(frozen=True)
class RecurrentSizes:
    """The numbers and names that a recurrent encoder-decoder is built from."""

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
        """D: width of the vector that the output layer compares with the vector of every word."""
        return self.maxout or (self.embed_size if self.tied else self.width)


class AttentiveDecoder(nn.Module):
    """Base class of decoders with attention to the source."""

    def __init__(self, sizes: RecurrentSizes) -> None:
        super().__init__()
        self.score = SCORES[sizes.attention](sizes.width, sizes.encoder_width, sizes.width)

    def project_keys(self, annotations: Float[Tensor, "B S C"]) -> object:
        """The keys of the score, computed from the annotations once per sentence."""
        keys = self.score.project_keys(annotations)
        return unrounded(keys) if isinstance(keys, Tensor) else keys

    def look(
        self, s: Float[Tensor, "R H"], memory: Memory, linear: Linear, trace: Trace | None
    ) -> Float[Tensor, "R C"]:
        """The context c of every row. The hypotheses of a sentence are queries to one memory, which is not copied."""
        query = s.unflatten(0, (memory.mask.shape[0], -1))  # (B, W, H)
        scores = self.score(query, memory.keys, linear)
        return attend(scores, memory.annotations, memory.mask, linear, trace).flatten(0, 1)
