"""What decoders with attention share: the score, its keys, and looking at the source."""

from jaxtyping import Float
from torch import Tensor, nn

from seqloom.models.api import Memory
from seqloom.models.recurrent_sizes import RecurrentSizes
from seqloom.nn.cells import Linear
from seqloom.nn.late import unrounded
from seqloom.nn.scores import SCORES, attend
from seqloom.nn.trace import Trace


class AttentiveDecoder(nn.Module):
    def __init__(self, sizes: RecurrentSizes) -> None:
        super().__init__()
        self.score = SCORES[sizes.attention](sizes.width, sizes.encoder_width, sizes.width)

    def project_keys(self, annotations: Float[Tensor, "B S C"]) -> object:
        """What the score makes of the annotations once a sentence."""
        keys = self.score.project_keys(annotations)
        return unrounded(keys) if isinstance(keys, Tensor) else keys

    def look(
        self, s: Float[Tensor, "R H"], memory: Memory, linear: Linear, trace: Trace | None
    ) -> Float[Tensor, "R C"]:
        """c for every row: the beams of a sentence are queries to one memory, never copies of it."""
        query = s.unflatten(0, (memory.mask.shape[0], -1))  # (B, W, H)
        scores = self.score(query, memory.keys, linear)
        return attend(scores, memory.annotations, memory.mask, linear, trace).flatten(0, 1)
