"""Weights of public models (Hugging Face names) under our names: BERT-type encoders and GPT-2-type decoders.

    theirs                                         ours
    encoder.layer.N.attention.self.query           encoder.N.attention.W_q
    ... .key, ... .value                           encoder.N.attention.W_kv      stacked
    h.N.attn.c_attn  (D, 3D)                       decoder.N.attention.W_q, W_kv      their matrices are transposed
    LayerNorm.gamma, LayerNorm.beta                weight and bias of a layer norm (names in old files)
    word vectors                                   the same rows in the order of our ids; zeros for tokens they lack,
                                                   with an output bias so low that their probability is 0

Tensors in, tensors out: the importer makes the settings that belong to them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from seqloom.errors import ModelError
from seqloom.text.vocabulary import FIRST_WORD, NEVER

OLD_NAMES = {"gamma": "weight", "beta": "bias"}


class PublicTensors:
    """The tensors of a file under the names of the plain model; `left` has the names of those not yet taken."""

    def __init__(self, tensors: Mapping[str, Tensor], prefix: str, file: Path) -> None:
        self.tensors = {plain_name(name, prefix): tensor for name, tensor in tensors.items()}
        self.left = set(self.tensors)
        self.file = file

    def take(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise ModelError(
                f"{self.file}: the weights lack {name}: not a model of the type and size that its config.json names"
            )
        self.left.discard(name)
        return self.tensors[name].float()


def plain_name(name: str, prefix: str) -> str:
    """The name without the prefix that all names of a model with an output head have."""
    whole, dot, part = name.removeprefix(prefix).rpartition(".")
    return whole + dot + (OLD_NAMES.get(part, part) if whole.endswith("LayerNorm") else part)


def from_bert(found: PublicTensors, theirs: Sequence[int], layers: int) -> dict[str, Tensor]:
    """The tensors of a masked model; the extra layer before their prediction has no counterpart here."""
    types = found.take("embeddings.token_type_embeddings.weight")[0]  # all words are of the first type: a constant
    ours = {
        "source_table.weight": reorder(found.take("embeddings.word_embeddings.weight"), theirs),
        "source_positions.table": found.take("embeddings.position_embeddings.weight") + types,
        **layer_norm(found, "embeddings.LayerNorm", "source_norm"),
    }
    for n in range(layers):
        layer, block = f"encoder.layer.{n}", f"encoder.{n}"
        ours |= linear(found, f"{layer}.attention.self.query", f"{block}.attention.W_q")
        for part in ("weight", "bias"):
            sides = [found.take(f"{layer}.attention.self.{side}.{part}") for side in ("key", "value")]
            ours[f"{block}.attention.W_kv.{part}"] = torch.cat(sides)
        ours |= linear(found, f"{layer}.attention.output.dense", f"{block}.attention.W_o")
        ours |= layer_norm(found, f"{layer}.attention.output.LayerNorm", f"{block}.around_attention.norm")
        ours |= linear(found, f"{layer}.intermediate.dense", f"{block}.feed_forward.W_1")
        ours |= linear(found, f"{layer}.output.dense", f"{block}.feed_forward.W_2")
        ours |= layer_norm(found, f"{layer}.output.LayerNorm", f"{block}.around_feed_forward.norm")
    ours["output.weight"] = ours["source_table.weight"]
    ours["output.bias"] = bias_of(theirs)
    return ours


def from_gpt2(found: PublicTensors, theirs: Sequence[int], layers: int) -> dict[str, Tensor]:
    """The tensors of a language model."""
    ours = {
        "target_table.weight": reorder(found.take("wte.weight"), theirs),
        "target_positions.table": found.take("wpe.weight"),
        **layer_norm(found, "ln_f", "decoder_norm"),
    }
    for n in range(layers):
        layer, block = f"h.{n}", f"decoder.{n}"
        ours |= layer_norm(found, f"{layer}.ln_1", f"{block}.around_attention.norm")
        weight = found.take(f"{layer}.attn.c_attn.weight").t()  # (3D, D)
        bias = found.take(f"{layer}.attn.c_attn.bias")
        width = weight.shape[1]
        for part, whole in (("weight", weight), ("bias", bias)):
            ours[f"{block}.attention.W_q.{part}"] = whole[:width].contiguous()
            ours[f"{block}.attention.W_kv.{part}"] = whole[width:].contiguous()
        ours |= linear(found, f"{layer}.attn.c_proj", f"{block}.attention.W_o", turned=True)
        ours |= layer_norm(found, f"{layer}.ln_2", f"{block}.around_feed_forward.norm")
        ours |= linear(found, f"{layer}.mlp.c_fc", f"{block}.feed_forward.W_1", turned=True)
        ours |= linear(found, f"{layer}.mlp.c_proj", f"{block}.feed_forward.W_2", turned=True)
    ours["output.weight"] = ours["target_table.weight"]
    ours["output.bias"] = bias_of(theirs)
    return ours


def linear(found: PublicTensors, theirs: str, ours: str, turned: bool = False) -> dict[str, Tensor]:
    weight = found.take(f"{theirs}.weight")
    return {
        f"{ours}.weight": weight.t().contiguous() if turned else weight,
        f"{ours}.bias": found.take(f"{theirs}.bias"),
    }


def layer_norm(found: PublicTensors, theirs: str, ours: str) -> dict[str, Tensor]:
    return {f"{ours}.{part}": found.take(f"{theirs}.{part}") for part in ("weight", "bias")}


def reorder(table: Tensor, theirs: Sequence[int]) -> Tensor:
    """Row i of ours is row theirs[i] of theirs; -1 = a row of zeros."""
    if max(theirs) >= len(table):
        raise ModelError(
            f"the tokenizer has ids up to {max(theirs)}, but there are word vectors for {len(table)} ids: these files "
            "are not from the same model"
        )
    rows = torch.tensor(theirs)
    return table[rows.clamp(min=0)] * (rows >= 0)[:, None]


def bias_of(theirs: Sequence[int]) -> Tensor:
    """Output bias: 0, as their models have none; very low for our special ids that they lack or have twice.

    Such an id must never be written, and must take no share of the softmax: theirs counts each token once.
    """
    specials = theirs[:FIRST_WORD]
    bias = torch.zeros(len(theirs))
    for index, their in enumerate(specials):
        if their < 0 or their in specials[index + 1 :]:
            bias[index] = NEVER
    return bias
