"""Tensor names of our Transformer and of the Hugging Face types that equal it: Marian (post-norm), Pegasus (pre-norm).

    ours                              theirs
    encoder.N.attention.W_q           model.encoder.layers.N.self_attn.q_proj
    encoder.N.attention.W_kv          ... k_proj and v_proj, stacked
    decoder.N.cross                   model.decoder.layers.N.encoder_attn
    feed_forward.W_1, W_2             fc1, fc2
    output.bias                       final_logits_bias

Their positions have all sines first, then all cosines; ours alternate. So the entries of every vector of width D are
reordered, in all matrices that read or write such vectors. The model computes the same.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from seqloom.config import Config
from seqloom.errors import ModelError
from seqloom.runtime.transformer_weights import Array, TransformerWeights

READ_VECTORS = ("W_q.weight", "W_kv.weight", "W_1.weight")  # one column per entry
WRITE_VECTORS = ("W_o.weight", "W_o.bias", "W_2.weight", "W_2.bias")  # one row per entry
ARE_VECTORS = ("table.weight", "output.weight")  # one row per word
Tensors = dict[str, Array]


def alternate(width: int) -> np.ndarray:
    """The order in which ours = theirs[..., alternate(D)]: sine, cosine, sine, cosine ..."""
    half = width // 2
    return np.arange(width).reshape(2, half).T.flatten()


def reorder(tensors: Mapping[str, Array], order: np.ndarray) -> Tensors:
    """The same model with the entries of its vectors in another order; names are ours."""
    found = {}
    for name, tensor in tensors.items():
        if name.endswith(READ_VECTORS) or name.endswith(ARE_VECTORS):
            found[name] = np.ascontiguousarray(tensor[:, order])
        elif name.endswith(WRITE_VECTORS) or "norm." in name:
            found[name] = np.ascontiguousarray(tensor[order])
        else:
            found[name] = tensor
    return found


def names(config: Config) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Our name of each part of a layer, and their names; several names mean matrices that are stacked in ours."""
    model = config.model
    for side, depth in (("encoder", model.layers), ("decoder", model.decoder_layers or model.layers)):
        for n in range(depth):
            ours, theirs = f"{side}.{n}", f"model.{side}.layers.{n}"
            looks = {"attention": "self_attn"} | ({"cross": "encoder_attn"} if side == "decoder" else {})
            for look, name in looks.items():
                yield f"{ours}.{look}.W_q", (f"{theirs}.{name}.q_proj",)
                yield f"{ours}.{look}.W_kv", (f"{theirs}.{name}.k_proj", f"{theirs}.{name}.v_proj")
                yield f"{ours}.{look}.W_o", (f"{theirs}.{name}.out_proj",)
                yield f"{ours}.around_{look}.norm", (f"{theirs}.{name}_layer_norm",)
            yield f"{ours}.feed_forward.W_1", (f"{theirs}.fc1",)
            yield f"{ours}.feed_forward.W_2", (f"{theirs}.fc2",)
            yield f"{ours}.around_feed_forward.norm", (f"{theirs}.final_layer_norm",)
        if model.norm == "pre":
            yield f"{side}_norm", (f"model.{side}.layer_norm",)


def to_hugging_face(weights: TransformerWeights) -> Tensors:
    """Convert the weights of a model with one tied embedding table."""
    width = weights.config.model.width
    ours = reorder(weights.tensors, np.argsort(alternate(width)))
    theirs = {"model.shared.weight": ours["output.weight"], "final_logits_bias": ours["output.bias"][None]}
    for own, parts in names(weights.config):
        for kind in ("weight", "bias"):
            for name, part in zip(parts, np.split(ours[f"{own}.{kind}"], len(parts)), strict=True):
                theirs[f"{name}.{kind}"] = np.ascontiguousarray(part)
    return theirs


def from_hugging_face(theirs: Mapping[str, Array], config: Config) -> Tensors:
    """Convert all weights except the embedding table and the output bias, which depend on the vocabulary."""
    ours: Tensors = {}
    for own, parts in names(config):
        for kind in ("weight", "bias"):
            ours[f"{own}.{kind}"] = np.concatenate([take(theirs, f"{name}.{kind}") for name in parts])
    return reorder(ours, alternate(config.model.width))


def take(tensors: Mapping[str, Array], name: str) -> Array:
    if name not in tensors:
        raise ModelError(f"the weights lack {name}: not a model of the type that its config.json names")
    return np.asarray(tensors[name], np.float32)
