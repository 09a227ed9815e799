"""Weights of public models (Hugging Face names) under our names: BERT-type encoders and GPT-2-type decoders.

    theirs                                         ours
    encoder.layer.N.attention.self.query           encoder.N.attention.W_q
    ... .key, ... .value                           encoder.N.attention.W_kv      one above the other
    h.N.attn.c_attn  (D, 3D)                       decoder.N.attention.W_q, W_kv      their matrices stand on their side
    word vectors                                   the same rows in the order of our ids; zeros where they have none,
                                                   and an output bias so low that no such row takes part in a softmax

Tensors in, tensors out: the settings that go with them are the importer's business.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from seqloom.errors import ModelError
from seqloom.text.vocabulary import FIRST_WORD, NEVER

Tensors = Mapping[str, Tensor]


def from_bert(tensors: Tensors, theirs: Sequence[int], layers: int) -> dict[str, Tensor]:
    """The tensors of a reader that predicts hidden words; their own layer before that prediction has no place here."""
    found = strip_prefix(tensors, "bert.")
    types = take(found, "embeddings.token_type_embeddings.weight")[0]  # all words are of the first type: a constant
    ours = {
        "source_table.weight": reorder(take(found, "embeddings.word_embeddings.weight"), theirs),
        "source_positions.table": take(found, "embeddings.position_embeddings.weight") + types,
        **layer_norm(found, "embeddings.LayerNorm", "source_norm"),
    }
    for n in range(layers):
        layer, block = f"encoder.layer.{n}", f"encoder.{n}"
        ours |= linear(found, f"{layer}.attention.self.query", f"{block}.attention.W_q")
        for part in ("weight", "bias"):
            sides = [take(found, f"{layer}.attention.self.{side}.{part}") for side in ("key", "value")]
            ours[f"{block}.attention.W_kv.{part}"] = torch.cat(sides)
        ours |= linear(found, f"{layer}.attention.output.dense", f"{block}.attention.W_o")
        ours |= layer_norm(found, f"{layer}.attention.output.LayerNorm", f"{block}.around_attention.norm")
        ours |= linear(found, f"{layer}.intermediate.dense", f"{block}.feed_forward.W_1")
        ours |= linear(found, f"{layer}.output.dense", f"{block}.feed_forward.W_2")
        ours |= layer_norm(found, f"{layer}.output.LayerNorm", f"{block}.around_feed_forward.norm")
    ours["output.weight"] = ours["source_table.weight"]
    ours["output.bias"] = bias_of(theirs)
    return ours


def from_gpt2(tensors: Tensors, theirs: Sequence[int], layers: int) -> dict[str, Tensor]:
    """The tensors of a language model."""
    found = strip_prefix(tensors, "transformer.")
    ours = {
        "target_table.weight": reorder(take(found, "wte.weight"), theirs),
        "target_positions.table": take(found, "wpe.weight"),
        **layer_norm(found, "ln_f", "decoder_norm"),
    }
    for n in range(layers):
        layer, block = f"h.{n}", f"decoder.{n}"
        ours |= layer_norm(found, f"{layer}.ln_1", f"{block}.around_attention.norm")
        weight = take(found, f"{layer}.attn.c_attn.weight").t()  # (3D, D)
        bias = take(found, f"{layer}.attn.c_attn.bias")
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


def strip_prefix(tensors: Tensors, prefix: str) -> dict[str, Tensor]:
    """A model with a head on top has all names behind a prefix."""
    return {name.removeprefix(prefix): tensor.float() for name, tensor in tensors.items()}


def take(tensors: Tensors, name: str) -> Tensor:
    if name not in tensors:
        raise ModelError(f"the weights lack {name}: not a model of the type that its config.json names")
    return tensors[name]


def linear(tensors: Tensors, theirs: str, ours: str, turned: bool = False) -> dict[str, Tensor]:
    weight = take(tensors, f"{theirs}.weight")
    return {
        f"{ours}.weight": weight.t().contiguous() if turned else weight,
        f"{ours}.bias": take(tensors, f"{theirs}.bias"),
    }


def layer_norm(tensors: Tensors, theirs: str, ours: str) -> dict[str, Tensor]:
    return {f"{ours}.{part}": take(tensors, f"{theirs}.{part}") for part in ("weight", "bias")}


def reorder(table: Tensor, theirs: Sequence[int]) -> Tensor:
    """Row i of ours is row theirs[i] of theirs; -1 = a row of zeros."""
    if max(theirs) >= len(table):
        raise ModelError(
            f"a tokenizer of {max(theirs) + 1} tokens, and word vectors for {len(table)}: not of one model"
        )
    rows = torch.tensor(theirs)
    return table[rows.clamp(min=0)] * (rows >= 0)[:, None]


def bias_of(theirs: Sequence[int]) -> Tensor:
    """They have no output bias. A special id of ours that they lack, or that is the same as a later one, is never
    written: it would take its share of the softmax, and theirs counts each of their words once."""
    specials = theirs[:FIRST_WORD]
    bias = torch.zeros(len(theirs))
    for index, their in enumerate(specials):
        if their < 0 or their in specials[index + 1 :]:
            bias[index] = NEVER
    return bias
