"""Export a Transformer to CTranslate2, in fp32 or int8: the same weights under its names.

The model is written from the weight file with numpy; the engine then runs without torch.
"""

from pathlib import Path
from typing import Any

import numpy as np

from seqloom.config import Config
from seqloom.errors import UsageError
from seqloom.files.folders import restored_on_failure
from seqloom.formats.check_engine import EngineOptions, Tell, check_golden, tell_change
from seqloom.formats.shortlist import add_shortlist
from seqloom.formats.transformer_weights import ATTENTION, CROSS, FEED_FORWARD, Affine, TransformerWeights, stacked
from seqloom.runtime.engine_ctranslate2 import unlike_ours
from seqloom.runtime.engine_folder import FOLDER, why_not, write_engine
from seqloom.runtime.folder import WEIGHTS, RunFolder, open_run
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, SPECIALS, UNK

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}  # ours: theirs


def check_ctranslate2(run: RunFolder) -> None:
    """Refuse a model that CTranslate2 cannot run."""
    if fault := why_not(run.config):
        raise UsageError(f"{run.path}: {fault}.")


def export_ctranslate2(run: RunFolder, out: Path) -> None:
    """Write a model for CTranslate2 itself, with our tokenizer files in the same folder."""
    write_ctranslate2(TransformerWeights.read(run.config, run.path / WEIGHTS), run.tokenizers, "float32", out)
    run.tokenizers.save(out)


def make_ctranslate2_engine(run: RunFolder, options: EngineOptions, tell: Tell) -> Path:
    """Write engine/ of a run folder, which `translate` and `serve` then use.

    In fp32 it must give the outputs in golden.json; for int8 and a shortlist, `tell` reports the change in BLEU.
    """
    if fault := why_no_engine(run.config):
        raise UsageError(f"{run.path}: {fault}.")
    import ctranslate2

    weights = TransformerWeights.read(run.config, run.path / WEIGHTS)

    def write(precision: str, shortlist: int = 0) -> Path:
        def fill(into: Path) -> None:
            write_ctranslate2(weights, run.tokenizers, precision, into)
            if shortlist:
                add_shortlist(run, shortlist, into / "vmap.txt")

        about = {"engine": "ctranslate2", "version": ctranslate2.__version__, "precision": precision}
        return write_engine(run, fill, **about, shortlist=shortlist)

    int8, shortlist = options.int8, options.shortlist
    with restored_on_failure(run.path / FOLDER):
        engine = write("float32")
        check_golden(run.path, engine)
        if int8 or shortlist:
            name = " with ".join(filter(None, ("int8" * int8, f"a shortlist of {shortlist}" if shortlist else "")))
            engine = tell_change(
                run, name, lambda: write("int8" if int8 else "float32", shortlist), options.items, tell
            )
    return engine


def make_engine(folder: Path, tell: Tell) -> Path | None:
    """Make the engine of a model that has just been trained; None if the model would not use it."""
    run = open_run(folder)
    return None if why_no_engine(run.config) else make_ctranslate2_engine(run, EngineOptions(), tell)


def why_no_engine(config: Config) -> str:
    """Why a model gets no engine/: CTranslate2 cannot run it, or its search settings need torch; "" if it gets one."""
    if (fault := why_not(config)) or not (unlike := unlike_ours(config.decode)):
        return fault
    names = " and ".join(f"decode.{name}" for name in unlike)
    return f"CTranslate2 defines {names} in another way, so this model always uses the torch engine: no engine is made"


def write_ctranslate2(weights: TransformerWeights, tokenizers: Tokenizers, precision: str, folder: Path) -> None:
    """Write model.bin, config.json and the vocabularies into an existing folder."""
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
        # all entries of a head are rotated, 2j and 2j+1 together, by i / 10000^(2j/K), as in `RotaryPositions`
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
    """Set what encoder and decoder share: scale sqrt(D), positions, layers, and the last norm of a pre-norm stack."""
    model, own = weights.config.model, {"encoder": "source", "decoder": "target"}[side]
    spec.scale_embeddings = model.embed_scale
    if hasattr(spec, "position_encodings"):  # not so in a decoder with rotary positions
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
