"""A Transformer of ours as a CTranslate2 model: the same numbers under its names, in fp32 or int8.

Written from the weight file with numpy; the engine then runs without torch.
"""

from pathlib import Path
from typing import Any

import numpy as np

from seqloom.errors import UsageError
from seqloom.runtime.engine_folder import why_not
from seqloom.runtime.transformer_weights import ATTENTION, CROSS, FEED_FORWARD, Affine, TransformerWeights, stacked
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, SPECIALS, UNK

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}  # ours: theirs


def write_ctranslate2(weights: TransformerWeights, tokenizers: Tokenizers, precision: str, folder: Path) -> None:
    """model.bin, config.json and the vocabularies into a folder that exists."""
    if fault := why_not(weights.config):
        raise UsageError(fault)
    spec = make_spec(weights)
    spec.register_source_vocabulary(tokenizers.source.tokens())
    spec.register_target_vocabulary(tokenizers.target.tokens())
    for name, token in (("bos", BOS), ("eos", EOS), ("unk", UNK)):
        setattr(spec.config, f"{name}_token", SPECIALS[token])
    spec.config.decoder_start_token = SPECIALS[BOS]
    spec.validate()
    spec.optimize(quantization=None if precision == "float32" else precision)
    spec.save(str(folder))


def make_spec(weights: TransformerWeights) -> Any:
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

    model = weights.config.model
    depths = (len([*weights.layers(side)]) for side in ("encoder", "decoder"))
    shape = {
        "pre_norm": model.norm == "pre",
        "activation": getattr(Activation, ACTIVATIONS[model.activation]),
        "layernorm_embedding": model.embed_norm,
        # all entries of a head are turned, 2j and 2j+1 together, by i / 10000^(2j/K), as `RotaryPositions` does it
        "rotary_dim": model.width // model.heads if model.positions == "rotary" else None,
    }
    sides = zip((TransformerEncoderSpec, TransformerDecoderSpec), depths, strict=True)
    spec = TransformerSpec(*(side(depth, model.heads, **shape) for side, depth in sides))
    spec.config.layer_norm_epsilon = model.norm_eps
    set_side(spec.encoder, weights, "encoder")
    set_side(spec.decoder, weights, "decoder")
    spec.encoder.embeddings[0].weight = weights.source_table
    spec.decoder.embeddings.weight = weights.target_table
    set_affine(spec.decoder.projection, weights.output)
    return spec


def set_side(spec: Any, weights: TransformerWeights, side: str) -> None:
    """What encoder and decoder share: scale sqrt(D), positions, layers, the norm that closes a pre-norm stack."""
    model, own = weights.config.model, {"encoder": "source", "decoder": "target"}[side]
    spec.scale_embeddings = model.embed_scale
    if hasattr(spec, "position_encodings"):  # a decoder with rotary positions has none
        spec.position_encodings.encodings = weights.positions(own, weights.config.longest_output)
    if model.embed_norm:
        set_norm(spec.layernorm_embedding, weights.affine(f"{own}_norm"))
    for layer, name in zip(spec.layer, weights.layers(side), strict=True):
        queries, keys, values = weights.queries_keys_values(f"{name}.{ATTENTION}")
        set_affine(layer.self_attention.linear[0], stacked(queries, keys, values))
        set_affine(layer.self_attention.linear[1], weights.affine(f"{name}.{ATTENTION}.W_o"))
        set_norm(layer.self_attention.layer_norm, weights.norm(name, ATTENTION))
        if side == "decoder":
            queries, keys, values = weights.queries_keys_values(f"{name}.{CROSS}")
            set_affine(layer.attention.linear[0], queries)
            set_affine(layer.attention.linear[1], stacked(keys, values))
            set_affine(layer.attention.linear[2], weights.affine(f"{name}.{CROSS}.W_o"))
            set_norm(layer.attention.layer_norm, weights.norm(name, CROSS))
        set_affine(layer.ffn.linear_0, weights.affine(f"{name}.{FEED_FORWARD}.W_1"))
        set_affine(layer.ffn.linear_1, weights.affine(f"{name}.{FEED_FORWARD}.W_2"))
        set_norm(layer.ffn.layer_norm, weights.norm(name, FEED_FORWARD))
    if model.norm == "pre":
        set_norm(spec.layer_norm, weights.affine(f"{side}_norm"))


def set_affine(spec: Any, affine: Affine) -> None:
    spec.weight, spec.bias = np.ascontiguousarray(affine.weight), np.ascontiguousarray(affine.bias)


def set_norm(spec: Any, norm: Affine) -> None:
    spec.gamma, spec.beta = norm.weight, norm.bias
