"""Export to a folder that Hugging Face transformers loads: Marian type for post-norm, Pegasus type for pre-norm."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.numpy import save
from tokenizers import processors

from seqloom.errors import UsageError
from seqloom.files.durable import write_new
from seqloom.formats.hugging_face_names import to_hugging_face
from seqloom.runtime.folder import WEIGHTS, RunFolder
from seqloom.runtime.transformer_weights import TransformerWeights
from seqloom.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK

TYPES = {"post": ("marian", "MarianMTModel"), "pre": ("pegasus", "PegasusForConditionalGeneration")}
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
OWN_TOKENIZERS = ("bpe", "unigram", "char", "word")


def check_hf(run: RunFolder) -> None:
    """Refuse a model that equals no model type of Hugging Face."""
    if faults := [*why_not(run)]:
        raise UsageError(f"{run.path} cannot be exported to Hugging Face: {'; '.join(faults)}.")


def export_hf(run: RunFolder, out: Path) -> None:
    """Write config.json, generation_config.json, model.safetensors and the tokenizer."""
    weights = TransformerWeights.read(run.config, run.path / WEIGHTS)
    write_new(out / WEIGHTS, save(to_hugging_face(weights), metadata={"format": "pt"}))
    write_json(out / "config.json", describe(run))
    write_json(out / "generation_config.json", describe_search(run))
    write_tokenizer(run, out)


def why_not(run: RunFolder) -> Iterator[str]:
    model = run.config.model
    if model.kind != "transformer":
        yield f"model.kind = {model.kind}, but only Transformers can be"
        return
    if model.positions != "sinusoidal":
        yield f"model.positions = {model.positions}, but their models have sinusoidal positions"
    if not (model.tied and run.tokenizers.source is run.tokenizers.target):
        yield "source, target and output do not share one embedding table and one tokenizer"
    if model.width % 2 or model.embed_norm or model.norm_eps != 1e-5:
        yield "it has an odd model.width, model.embed_norm = true, or a model.norm_eps other than 1e-05"
    if run.tokenizers.source.kind not in OWN_TOKENIZERS:
        yield "its tokenizer was imported from another tool"


def describe(run: RunFolder) -> dict[str, Any]:
    model, (type_, architecture) = run.config.model, TYPES[run.config.model.norm]
    shared = {"attention_heads": model.heads, "ffn_dim": model.ffn_size or 4 * model.width}
    return {
        "model_type": type_,
        "architectures": [architecture],
        "vocab_size": len(run.tokenizers.target),
        "d_model": model.width,
        "encoder_layers": model.layers,
        "decoder_layers": model.decoder_layers or model.layers,
        **{f"{side}_{name}": number for side in ("encoder", "decoder") for name, number in shared.items()},
        "activation_function": ACTIVATIONS[model.activation],
        "max_position_embeddings": model.max_length or run.config.longest_output,
        "scale_embedding": model.embed_scale,
        "dropout": model.dropout,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,
        **({"share_encoder_decoder_embeddings": True} if type_ == "marian" else {}),
    }


def describe_search(run: RunFolder) -> dict[str, Any]:
    """Return the settings of `generate` closest to our search: never <pad> or <s>; stop when the beam is full."""
    decode = run.config.decode
    return {
        "num_beams": decode.beam,
        "length_penalty": decode.length_penalty,
        "early_stopping": True,
        "max_length": run.config.model.max_length or run.config.longest_output,
        "suppress_tokens": [PAD, BOS],
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
    }


def write_tokenizer(run: RunFolder, out: Path) -> None:
    """Write tokenizer.json, which ends each source with </s>."""
    end = (SPECIALS[EOS], EOS)
    engine = type(run.tokenizers.source.engine).from_str(run.tokenizers.source.content)
    engine.post_processor = processors.TemplateProcessing(
        single=f"$A {end[0]}", pair=f"$A $B {end[0]}", special_tokens=[end]
    )
    engine.save(str(out / "tokenizer.json"))
    names = {"pad_token": PAD, "bos_token": BOS, "eos_token": EOS, "unk_token": UNK}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": run.config.data.max_tokens + 1}
    special = {name: SPECIALS[index] for name, index in names.items()}
    write_json(out / "tokenizer_config.json", {**about, "clean_up_tokenization_spaces": False, **special})
    write_json(out / "special_tokens_map.json", special)


def write_json(file: Path, content: dict[str, Any]) -> None:
    write_new(file, json.dumps(content, indent=2) + "\n")
