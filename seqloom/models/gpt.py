"""A decoder that is its own encoder: the Transformer without a source. Radford et al. 2018 (GPT).

    x = scale E[token] + position;  L blocks that look back;  p(y_t | y_<t) = softmax(h_t W^T + b)

On pairs it reads  x1 .. xm EOS BOS y1 .. yn  as one sequence: EOS and BOS together are the separator, and places are
counted on from the source's own length. What it made of the source (keys and values of each layer) is the memory,
kept once a sentence: the hypotheses of a beam share it (nn/prompted.py). Padding stands last and nobody looks ahead,
so the causal mask hides it from the source, and the memory's mask from the target.
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
        return self.go_on(tokens, state, None, trace)

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        annotations, state = self.go_on(tokens, self.begin(tokens.shape[0]), None, trace, reader="encoder")
        return Memory(annotations, mask, keys=state["past"])

    def start(self, memory: Memory, beams: int = 1) -> State:
        lengths = memory.mask.sum(1).repeat_interleave(beams)  # (R,): the place of BOS
        return {"position": lengths, "past": [None] * len(self.decoder)}

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        return self.go_on(tokens, state, memory, trace)

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        return self.output(hidden)

    def go_on(
        self,
        tokens: Int[Tensor, "R k"],
        state: State,
        memory: Memory | None,
        trace: Trace | None,
        reader: str = "decoder",
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """k tokens after what the state has read and, where there is one, after the memory."""
        position, num = state["position"], tokens.shape[1]
        embedded = self.target_positions.add(self.target_table(tokens) * self.scale, position)  # type: ignore[operator]
        x = self.dropout(self.target_norm(embedded))
        turn = self.target_positions.turn(position, num)  # type: ignore[operator]
        visible = memory.mask[:, None, None] if memory else None
        present = []
        for depth, block in enumerate(self.decoder):
            source = memory.keys[depth] if memory else None
            x, kept = block(x, state["past"][depth], depth, trace, turn, source, visible, reader)
            present.append(kept)
        return self.decoder_norm(x), {"position": position + num, "past": present}
