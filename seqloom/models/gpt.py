"""GPT: the decoder-only Transformer. Radford et al. 2018.

    x = scale E[token] + position;  L blocks of causal self-attention;  p(y_t | y_<t) = softmax(h_t W^T + b)

On pairs the source is fed as a prompt: x1 .. xm EOS BOS y1 .. yn is one sequence, EOS and BOS together separate source
and target, and positions continue after the source. The key/value cache of the source (keys and values of each layer)
is the memory, one per sentence and shared by the hypotheses of a beam (nn/prompted.py); the cache of the target is in
the state. Padding comes last, so the causal mask hides it from the source, and the memory's mask from the target.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.models.api import LanguageModel, Memory, State
from seqloom.models.transformer_encoder import TransformerSizes, initialise
from seqloom.nn.blocks import CausalBlock
from seqloom.nn.dropout import Dropout
from seqloom.nn.embed import Output, make_table
from seqloom.nn.trace import Trace


class GPT(LanguageModel):
    """Decoder-only Transformer; `context` is the window of tokens it is trained with, 0 = whole texts."""

    def __init__(self, vocab_size: int, sizes: TransformerSizes, *, layers: int, tied: bool, context: int = 0) -> None:
        super().__init__()
        self.target_vocab_size = vocab_size
        self.context = context
        self.scale = sizes.scale
        self.target_table = make_table(vocab_size, sizes.width)
        self.target_positions = sizes.make_positions()
        self.target_norm = sizes.make_embed_norm()
        self.dropout = Dropout(sizes.dropout)
        self.decoder: Sequence[CausalBlock] = nn.ModuleList(  # type: ignore[assignment]
            CausalBlock(*sizes.of_block) for _ in range(layers)
        )
        self.decoder_norm = sizes.make_last_norm()
        self.output = Output(sizes.width, vocab_size, self.target_table if tied else None)
        initialise(self, sizes)

    def begin(self, rows: int) -> State:
        return {"position": 0, "past": [None] * len(self.decoder)}

    def read(
        self, tokens: Int[Tensor, "B T"], state: State, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        return self.continue_from(tokens, state, None, trace)

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        annotations, state = self.continue_from(tokens, self.begin(tokens.shape[0]), None, trace, part="encoder")
        return Memory(annotations, mask, keys=state["past"])

    def start(self, memory: Memory, beams: int = 1) -> State:
        lengths = memory.mask.sum(1).repeat_interleave(beams)  # (R,): the position of BOS
        return {"position": lengths, "past": [None] * len(self.decoder)}

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        return self.continue_from(tokens, state, memory, trace)

    def continue_from(
        self,
        tokens: Int[Tensor, "R k"],
        state: State,
        memory: Memory | None,
        trace: Trace | None,
        part: str = "decoder",
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Read k tokens after those in the state's cache and, if given, after the memory; `part` names recordings."""
        position, num = state["position"], tokens.shape[1]
        embedded = self.target_positions.add(self.target_table(tokens) * self.scale, position)  # type: ignore[operator]
        x = self.dropout(self.target_norm(embedded))
        rotation = self.target_positions.rotation(position, num)  # type: ignore[operator]
        visible = memory.mask[:, None, None] if memory else None
        present = []
        for depth, block in enumerate(self.decoder):
            source = memory.keys[depth] if memory else None
            x, kept = block(x, state["past"][depth], depth, trace, rotation, source, visible, part)
            present.append(kept)
        return self.decoder_norm(x), {"position": position + num, "past": present}
