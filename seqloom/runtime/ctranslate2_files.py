"""A Transformer as the files of CTranslate2, made from its weights with numpy, in fp32 or int8.

    model.bin   version, name, revision; per variable its name, shape, type and bytes; then second names (aliases)

CTranslate2's own writer needs torch, which takes seconds to import; a test compares the names and types of both.
Compact weights need no engine/ on disk: their files are made in memory whenever the model is loaded.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.models.compact_weights import in_eight_bits
from seqloom.runtime.transformer_weights import (
    ATTENTION,
    CROSS,
    FEED_FORWARD,
    Affine,
    TransformerWeights,
    stacked,
)
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, SPECIALS, UNK

BINARY_VERSION, NAME, REVISION = 6, "TransformerSpec", 7
TYPES = ("float32", "int8", "int16", "int32")  # their numbers
ACTIVATIONS = {"relu": 0, "gelu_tanh": 1, "silu": 2, "gelu": 3}  # theirs by our names
TABLE = "decoder/embeddings/weight"
USUAL = {  # what our Transformers have in common
    "decoder/alibi": np.int8(0),
    "decoder/alibi_use_positive_positions": np.int8(0),
    "decoder/alignment_heads": np.int16(1),
    "decoder/alignment_layer": np.int16(-1),
    "decoder/scale_alibi": np.int8(0),
    "decoder/start_from_zero_embedding": np.int8(0),
    "encoder/embeddings_merge": np.int8(0),
    "encoder/multi_query_attention": np.int8(0),
}
Variable = Any  # an array or a number of numpy; a string is the name of a variable with the same content


def model_files(weights: TransformerWeights, tokenizers: Tokenizers, precision: str) -> dict[str, bytes]:
    """The content of each file. precision: float32, or int8 for the matrices."""
    sides = {"source": tokenizers.source.tokens(), "target": tokenizers.target.tokens()}
    if sides["source"] == sides["target"]:
        sides = {"shared": sides["source"]}
    special = {f"{name}_token": SPECIALS[token] for name, token in (("bos", BOS), ("eos", EOS), ("unk", UNK))}
    config = {
        **special,
        "decoder_start_token": SPECIALS[BOS],
        "add_source_bos": False,
        "add_source_eos": False,
        "layer_norm_epsilon": weights.config.model.norm_eps,
        "multi_query_attention": False,
    }
    return {
        "model.bin": binary(Variables(weights, precision == "int8").found),
        "config.json": json.dumps(config, indent=1).encode(),
        **{f"{side}_vocabulary.json": json.dumps(tokens).encode() for side, tokens in sides.items()},
    }


class Variables:
    """The weights and settings of a model under CTranslate2's names."""

    def __init__(self, weights: TransformerWeights, int8: bool) -> None:
        self.weights, self.int8 = weights, int8
        self.found: dict[str, Variable] = {**USUAL}
        self.matrix(TABLE, weights.target_table)
        shared = weights.source_table is weights.target_table
        self.found |= {"encoder/embeddings_0/weight": TABLE} if shared else {}
        if not shared:
            self.matrix("encoder/embeddings_0/weight", weights.source_table)
        if weights.output.weight is weights.target_table:
            self.found |= {"decoder/projection/weight": TABLE, "decoder/projection/bias": weights.output.bias}
        else:
            self.affine("decoder/projection", weights.output)
        for side, own in (("encoder", "source"), ("decoder", "target")):
            self.side(side, own)

    def side(self, side: str, own: str) -> None:
        """What encoder and decoder share: scale sqrt(D), positions, layers, the last norm of a pre-norm stack."""
        model, weights = self.weights.config.model, self.weights
        self.found |= {
            f"{side}/activation": np.int8(ACTIVATIONS[model.activation]),
            f"{side}/num_heads": np.int16(model.heads),
            f"{side}/pre_norm": np.int8(model.norm == "pre"),
            f"{side}/scale_embeddings": np.int8(model.embed_scale),
        }
        if side == "encoder" or model.positions != "rotary":
            self.found[f"{side}/position_encodings/encodings"] = weights.positions(own, weights.config.longest_output)
        if model.embed_norm:
            self.norm(f"{side}/layernorm_embedding", weights.affine(f"{own}_norm"))
        for depth, name in enumerate(weights.layers(side)):
            self.layer(f"{side}/layer_{depth}", name, has_cross=side == "decoder")
        if model.norm == "pre":
            self.norm(f"{side}/layer_norm", weights.affine(f"{side}_norm"))

    def layer(self, theirs: str, ours: str, has_cross: bool) -> None:
        """Self-attention, attention to the source, feed-forward, each with its layer norm."""
        weights = self.weights
        queries, keys, values = weights.queries_keys_values(f"{ours}.{ATTENTION}")
        self.affine(f"{theirs}/self_attention/linear_0", stacked(queries, keys, values))
        self.affine(f"{theirs}/self_attention/linear_1", weights.affine(f"{ours}.{ATTENTION}.W_o"))
        self.norm(f"{theirs}/self_attention/layer_norm", weights.norm(ours, ATTENTION))
        if weights.config.model.positions == "rotary":
            # all entries of a head are rotated, 2j and 2j+1 together, by i / 10000^(2j/K), as in `RotaryPositions`
            for name, value in (
                ("base", np.float32(10000)),
                ("dim", np.int32(weights.config.model.width // weights.config.model.heads)),
                ("interleave", np.int8(1)),
            ):
                self.found[f"{theirs}/self_attention/rotary_{name}"] = value
        if has_cross:
            queries, keys, values = weights.queries_keys_values(f"{ours}.{CROSS}")
            self.affine(f"{theirs}/attention/linear_0", queries)
            self.affine(f"{theirs}/attention/linear_1", stacked(keys, values))
            self.affine(f"{theirs}/attention/linear_2", weights.affine(f"{ours}.{CROSS}.W_o"))
            self.norm(f"{theirs}/attention/layer_norm", weights.norm(ours, CROSS))
        self.affine(f"{theirs}/ffn/linear_0", weights.affine(f"{ours}.{FEED_FORWARD}.W_1"))
        self.affine(f"{theirs}/ffn/linear_1", weights.affine(f"{ours}.{FEED_FORWARD}.W_2"))
        self.norm(f"{theirs}/ffn/layer_norm", weights.norm(ours, FEED_FORWARD))

    def affine(self, name: str, affine: Affine) -> None:
        self.matrix(f"{name}/weight", affine.weight)
        self.found[f"{name}/bias"] = affine.bias

    def norm(self, name: str, norm: Affine) -> None:
        self.found |= {f"{name}/gamma": norm.weight, f"{name}/beta": norm.bias}

    def matrix(self, name: str, matrix: NDArray[np.float32]) -> None:
        if self.int8:
            self.found[name], scale = in_eight_bits(matrix)
            self.found[f"{name}_scale"] = 1 / scale  # they divide by it
        else:
            self.found[name] = matrix


def binary(variables: dict[str, Variable]) -> bytes:
    """The content of model.bin."""
    own = {name: value for name, value in sorted(variables.items()) if not isinstance(value, str)}
    aliases = {name: value for name, value in sorted(variables.items()) if isinstance(value, str)}
    head = struct.pack("=I", BINARY_VERSION) + text(NAME) + struct.pack("=II", REVISION, len(own))
    second = b"".join(text(name) + text(other) for name, other in aliases.items())
    return b"".join([head, *described(own), struct.pack("=I", len(aliases)), second])


def described(variables: dict[str, Any]) -> Iterator[bytes]:
    for name, value in variables.items():
        content = np.ascontiguousarray(value).tobytes()
        shape, kind = value.shape, TYPES.index(str(value.dtype))
        yield text(name) + struct.pack(f"=B{len(shape)}IBI", len(shape), *shape, kind, len(content))
        yield content


def text(name: str) -> bytes:
    return struct.pack("=H", len(name) + 1) + name.encode() + b"\0"
