"""Import Marian-type models (OPUS-MT): their folder becomes a model folder like any other.

Reads config.json, model.safetensors, source.spm, target.spm and vocab.json. Their ids are renumbered: <pad>, <s>, </s>,
<unk>, then the others in their order. Their decoder begins with <pad>, so our <s> is a copy of that row; it is never
an output.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save

from seqloom.config import Config, build_config
from seqloom.errors import ModelError
from seqloom.files.durable import write_new
from seqloom.files.reading import TOKENIZER, check_regular, read_file
from seqloom.formats.hugging_face_names import alternate, from_hugging_face, names, take
from seqloom.formats.public_folder import ACTIVATIONS, WEIGHTS, Numbers, describe_left_out, read_json, write_settings
from seqloom.runtime.run_facts import RunFacts
from seqloom.text.sentencepiece import SentencePieceTokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, NEVER, PAD, SPECIALS

SHARED = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
BIAS = "final_logits_bias"


def import_marian(folder: Path, about: Mapping[str, Any], out: Path) -> RunFacts:
    """Write the model of `folder`, whose config.json is `about`, into the empty folder `out`."""
    config = marian_settings(Numbers(folder / "config.json", about), about)
    vocabulary, theirs = read_vocabulary(folder)
    if (begin := about.get("decoder_start_token_id", theirs[PAD])) != theirs[PAD]:
        raise ModelError(
            f"{folder / 'config.json'}: decoder_start_token_id = {begin!r}: want that of <pad>, {theirs[PAD]}"
        )
    return write_folder(out, folder, config, read_tokenizers(folder, vocabulary), theirs)


def marian_settings(numbers: Numbers, about: Mapping[str, Any]) -> Config:
    alike = ("attention_heads", "ffn_dim")
    for name in alike:
        if numbers.size(f"encoder_{name}") != numbers.size(f"decoder_{name}"):
            raise ModelError(f"{numbers.file}: encoder_{name} and decoder_{name} differ; in Seqloom they must be equal")
    if not about.get("share_encoder_decoder_embeddings", True) or not about.get("tie_word_embeddings", True):
        raise ModelError(
            f"{numbers.file}: source and target have separate vocabularies or embedding tables; only models in "
            "which they share one can be imported"
        )
    places = numbers.size("max_position_embeddings")
    return build_config(
        {
            "data": {"max_tokens": places - 1, "source_lang": "", "target_lang": ""},
            "text": {"tokenizer": "foreign", "vocab_size": numbers.size("vocab_size") + 1, "joint": True},
            "train": {"batch_tokens": max(4096, places + 1)},
            "model": {
                "kind": "transformer", "norm": "post", "positions": "sinusoidal", "tied": True,
                "layers": numbers.size("encoder_layers"), "decoder_layers": numbers.size("decoder_layers"),
                "width": numbers.size("d_model"), "heads": numbers.size("encoder_attention_heads"),
                "ffn_size": numbers.size("encoder_ffn_dim"), "embed_scale": bool(about.get("scale_embedding")),
                "activation": numbers.choice("activation_function", ACTIVATIONS),
                "dropout": numbers.fraction("dropout", 0.1),
            },
        },
        where=str(numbers.file),
    )  # fmt: skip


def read_vocabulary(folder: Path) -> tuple[list[str], list[int]]:
    """Every piece in the order of our ids, and their id of each."""
    ids = read_json(folder / "vocab.json")
    if not all(type(index) is int for index in ids.values()) or sorted(ids.values()) != list(range(len(ids))):
        raise ModelError(f"{folder / 'vocab.json'}: want every id from 0 up exactly once")
    missing = [token for token in ("<pad>", "</s>", "<unk>") if token not in ids]
    if missing or SPECIALS[BOS] in ids:
        raise ModelError(f"{folder / 'vocab.json'}: {missing or SPECIALS[BOS]}: want <pad>, </s> and <unk>, and no <s>")
    first = [ids["<pad>"], ids["<pad>"], ids["</s>"], ids["<unk>"]]
    by_id = {index: piece for piece, index in ids.items()}
    rest = [index for index in range(len(ids)) if index not in first]
    return [*SPECIALS, *(by_id[index] for index in rest)], first + rest


def read_tokenizers(folder: Path, vocabulary: list[str]) -> Tokenizers:
    sides = []
    for side in ("source", "target"):
        file = folder / f"{side}.spm"
        try:
            sides.append(SentencePieceTokenizer(read_file(file, TOKENIZER, links=True), vocabulary))
        except OSError as error:
            raise ModelError(f"{file}: cannot be read: {error.strerror}") from None
        except ModelError as error:
            raise ModelError(f"{file}: {error}") from None
    return Tokenizers(*sides)


def write_folder(out: Path, folder: Path, config: Config, tokenizers: Tokenizers, theirs: list[int]) -> RunFacts:
    """Write the model folder; ModelError if the weights do not fit the settings."""
    found = read_arrays(folder / WEIGHTS)
    table = take(found, next((name for name in SHARED if name in found), SHARED[0]))
    if len(table) <= max(theirs) or table.shape[1] != config.model.width:
        raise ModelError(
            f"{folder / WEIGHTS}: word vectors of shape {list(table.shape)} do not fit vocab.json, d_model"
        )
    bias = take({BIAS: np.zeros(len(table), np.float32), **found}, BIAS).flatten()
    if len(bias) != len(table):
        raise ModelError(f"{folder / WEIGHTS}: {BIAS} has {len(bias)} numbers for {len(table)} words")
    bias = bias[theirs]
    bias[BOS] = NEVER
    ours = from_hugging_face(found, config)
    ours |= {"output.weight": np.ascontiguousarray(table[theirs][:, alternate(table.shape[1])]), "output.bias": bias}
    check_model(config, len(theirs), {name: array.shape for name, array in ours.items()}, folder / WEIGHTS)
    taken = {f"{part}.{kind}" for _, parts in names(config) for part in parts for kind in ("weight", "bias")}
    left = found.keys() - taken - {*SHARED, BIAS}
    left_out = describe_left_out(name.removeprefix("model.") for name in left)
    facts = RunFacts(
        params=sum(tensor.size for tensor in ours.values()), step=0, weights="imported", finished=True,
        origin=folder.name, left_out=left_out or None,
    )  # fmt: skip
    write_settings(out, config, tokenizers, facts)
    write_new(out / WEIGHTS, save(ours, metadata={"format": "pt"}))
    return facts


def read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The weights in single precision, however they are stored; read by torch, because numpy has no bfloat16."""
    from safetensors.torch import load_file

    try:
        check_regular(file, links=True)
        return {name: tensor.float().numpy() for name, tensor in load_file(file).items()}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file}: damaged or cut short ({error}). Fetch it again.") from None


def check_model(config: Config, vocab_size: int, found: dict[str, tuple[int, ...]], file: Path) -> None:
    """Check that the sizes in config.json are those of the weights."""
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.weights import check_shapes, stored_tensors

    with torch.device("meta"):
        outline = build_model(config, vocab_size, vocab_size, True)
    check_shapes({name: tuple(tensor.shape) for name, tensor in stored_tensors(outline).items()}, found, file)
