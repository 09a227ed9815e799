"""Import BERT- and GPT-2-type models (Hugging Face layout): their folder becomes a model folder like any other.

config.json has the settings, model.safetensors the weights, tokenizer.json the tokenizer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import Config, TrainConfig, build_config
from seqloom.errors import ModelError
from seqloom.files.reading import TOKENIZER, check_regular, parse_json, read_file
from seqloom.formats.public_folder import ACTIVATIONS, WEIGHTS, Numbers, describe_left_out, read_json, write_settings
from seqloom.runtime.run_facts import RunFacts
from seqloom.text.sides import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.text.foreign import ForeignTokenizer


@dataclass(frozen=True)
class Kind:
    """How one type of public model is read."""

    settings: Callable[["Numbers"], dict[str, dict[str, Any]]]  # config.json -> our settings
    specials: Callable[[Mapping[str, Any]], tuple[str | None, ...]]  # their tokens for <pad> <s> </s> <unk>
    weights: str  # the function of public_weights.py
    prefix: str  # of all tensor names, if the model has an output head
    lacks: str = ""  # the part of the public model that ours does not have


def bert_settings(numbers: Numbers) -> dict[str, dict[str, Any]]:
    places = numbers.size("max_position_embeddings")
    if "position_embedding_type" in numbers.content:
        numbers.choice("position_embedding_type", {"absolute": "learned"})
    for name in ("is_decoder", "add_cross_attention"):
        numbers.only(name, False)
    return {
        "task": {"name": "masked"},
        "data": {"max_tokens": places - 2},  # in addition to [CLS] and [SEP]
        "model": {
            "kind": "transformer", "norm": "post", "embed_norm": True,
            "layers": numbers.size("num_hidden_layers"), "width": numbers.size("hidden_size"),
            "heads": numbers.size("num_attention_heads"), "ffn_size": numbers.size("intermediate_size"),
            "activation": numbers.choice("hidden_act", ACTIVATIONS), "max_length": places,
            "dropout": numbers.fraction("hidden_dropout_prob", 0.1),
            "norm_eps": numbers.fraction("layer_norm_eps", 1e-12),
        },
    }  # fmt: skip


def gpt2_settings(numbers: Numbers) -> dict[str, dict[str, Any]]:
    width, places = numbers.size("n_embd"), numbers.size("n_positions")
    inner = 4 * width if numbers.content.get("n_inner") is None else numbers.size("n_inner")
    for name in ("tie_word_embeddings", "scale_attn_weights"):
        numbers.only(name, True)
    for name in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        numbers.only(name, False)
    return {
        "task": {"name": "language", "window": places},
        "model": {
            "kind": "gpt", "norm": "pre", "layers": numbers.size("n_layer"), "width": width,
            "heads": numbers.size("n_head"), "ffn_size": inner,
            "activation": numbers.choice("activation_function", ACTIVATIONS), "max_length": places,
            "dropout": numbers.fraction("resid_pdrop", 0.1), "norm_eps": numbers.fraction("layer_norm_epsilon", 1e-5),
        },
    }  # fmt: skip


def bert_specials(named: Mapping[str, Any]) -> tuple[str | None, ...]:
    usual = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return tuple(token_text(named.get(name)) or default for name, default in usual.items())


def gpt2_specials(named: Mapping[str, Any]) -> tuple[str | None, ...]:
    end = token_text(named.get("eos_token")) or "<|endoftext|>"
    return None, token_text(named.get("bos_token")) or end, end, None


def token_text(token: Any) -> str | None:
    """The text of a special token, which is written as a string or as an object with a string."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


KINDS = {
    "bert": Kind(
        bert_settings, bert_specials, "from_bert", "bert.", lacks="the layer before its prediction of hidden words"
    ),
    "gpt2": Kind(gpt2_settings, gpt2_specials, "from_gpt2", "transformer."),
}


def import_public(folder: Path, about: Mapping[str, Any], out: Path) -> RunFacts:
    """Write the model of `folder`, whose config.json is `about`, into the empty folder `out`."""
    kind = KINDS[about["model_type"]]
    tokenizer = read_tokenizer(folder, kind)
    table = kind.settings(Numbers(folder / "config.json", about))
    table["model"] |= {"positions": "learned", "embed_scale": False, "tied": True}
    table["train"] = {"batch_tokens": max(TrainConfig().batch_tokens, table["model"]["max_length"])}
    table["text"] = {"tokenizer": "foreign", "vocab_size": len(tokenizer), "joint": True}
    config = build_config(table, where=str(folder / "config.json"))
    tensors, left_out = read_tensors(folder / WEIGHTS, kind, tokenizer, config.model.layers)
    return write_folder(out, config, tokenizer, tensors, folder, kind.lacks, left_out)


def read_tokenizer(folder: Path, kind: Kind) -> "ForeignTokenizer":
    from seqloom.text.foreign import ForeignTokenizer, open_public

    file, named = folder / "tokenizer.json", folder / "special_tokens_map.json"
    specials = kind.specials(read_json(named) if named.is_file() else {})
    if not file.is_file():
        raise ModelError(
            f"{file}: no such file. Write it with the program that made the model: "
            "`AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)`."
        )
    try:
        engine = open_public(parse_json(read_file(file, TOKENIZER, links=True)))
    except Exception as error:  # the library raises bare Exceptions
        raise ModelError(f"{file}: not a tokenizer, or a damaged one: {error}") from None
    return ForeignTokenizer(engine, specials)


def read_tensors(file: Path, kind: Kind, tokenizer: "ForeignTokenizer", layers: int) -> tuple[dict[str, "Tensor"], str]:
    """Our tensors, and the names of their tensors that are not used."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from seqloom.formats import public_weights as imported

    try:
        check_regular(file, links=True)
        found = imported.PublicTensors(load_file(file), kind.prefix, file)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file}: damaged or cut short ({error}). Fetch it again.") from None
    convert: Callable[[imported.PublicTensors, Sequence[int], int], dict[str, Tensor]] = getattr(imported, kind.weights)
    ours = convert(found, tokenizer.theirs, layers)
    return ours, describe_left_out(found.left)


def write_folder(
    out: Path,
    config: Config,
    tokenizer: "ForeignTokenizer",
    tensors: dict[str, "Tensor"],
    origin: Path,
    lacks: str,
    left_out: str,
) -> RunFacts:
    """Write the model folder; ModelError if the weights do not fit the settings."""
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.weights import check_shapes, save_weights

    with torch.device("meta"):
        outline = build_model(config, len(tokenizer), len(tokenizer), True)
    wanted = {name: tuple(tensor.shape) for name, tensor in outline.state_dict().items()}
    check_shapes(wanted, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin / WEIGHTS)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    model.load_state_dict(tensors)
    facts = RunFacts(
        params=sum(parameter.numel() for parameter in model.parameters()), step=0, weights="imported", finished=True,
        origin=origin.name, lacks=lacks or None, left_out=left_out or None,
    )  # fmt: skip
    write_settings(out, config, Tokenizers(tokenizer, tokenizer), facts)
    save_weights(model, out / WEIGHTS)
    return facts
