"""seqloom import: a folder of public weights (Hugging Face layout) becomes a model folder like any other.

config.json says what it is, model.safetensors what it knows, tokenizer.json how it reads. Pickles are refused: loading
one runs what it holds. The folder is untrusted: every number is checked before anything is built from it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import Config, TrainConfig, build_config, dump_config
from seqloom.errors import ModelError
from seqloom.workflows.left_out import describe_left_out
from seqloom.workflows.new_folder import check_new

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.text.foreign import ForeignTokenizer

WEIGHTS = "model.safetensors"
SHARDS = ("model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
MOST = 10**6  # of any size in config.json


@dataclass(frozen=True)
class Kind:
    """How one type of public model is read."""

    settings: Callable[["Numbers"], dict[str, dict[str, Any]]]  # config.json -> our settings
    specials: Callable[[Mapping[str, Any]], tuple[str | None, ...]]  # <pad> <s> </s> <unk> in their words
    weights: str  # the function of models.imported
    prefix: str  # before the names of all tensors where the model has a head
    lacks: str = ""  # what of the published model has no place in ours


class Numbers:
    """The numbers of a config.json, checked."""

    def __init__(self, file: Path, content: Mapping[str, Any]) -> None:
        self.file, self.content = file, content

    def size(self, name: str) -> int:
        number = self.content.get(name)
        if type(number) is not int or not 1 <= number <= MOST:
            raise ModelError(f"{self.file}: {name} = {number!r}: want a whole number from 1 to {MOST:,}")
        return number

    def choice(self, name: str, allowed: Mapping[str, str]) -> str:
        found = str(self.content.get(name))
        if found not in allowed:
            raise ModelError(f"{self.file}: {name} = {found!r}: this Seqloom knows {', '.join(allowed)}")
        return allowed[found]

    def only(self, name: str, value: bool) -> None:
        """A model that computes in another way would be imported without a word, and wrong."""
        found = self.content.get(name, value)
        if found is not value:
            raise ModelError(
                f"{self.file}: {name} = {json.dumps(found)}: a model that computes otherwise than any of Seqloom; "
                f"only {name} = {json.dumps(value)} can be imported"
            )

    def fraction(self, name: str, default: float) -> float:
        found = self.content.get(name, default)
        if not isinstance(found, (int, float)) or not 0 <= found < 1:
            raise ModelError(f"{self.file}: {name} = {found!r}: want a number from 0 to below 1")
        return float(found)


ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "silu",
    "swish": "silu",
}  # fmt: skip  # their names, ours


def bert_settings(numbers: Numbers) -> dict[str, dict[str, Any]]:
    places = numbers.size("max_position_embeddings")
    if "position_embedding_type" in numbers.content:
        numbers.choice("position_embedding_type", {"absolute": "learned"})
    for name in ("is_decoder", "add_cross_attention"):
        numbers.only(name, False)
    return {
        "task": {"name": "masked"},
        "data": {"max_tokens": places - 2},  # beside [CLS] and [SEP]
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
    """A special token is written as a string or as an object that holds one."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


KINDS = {
    "bert": Kind(
        bert_settings, bert_specials, "from_bert", "bert.", lacks="the layer before its prediction of hidden words"
    ),
    "gpt2": Kind(gpt2_settings, gpt2_specials, "from_gpt2", "transformer."),
}
MARIAN = "marian"  # which `import_model` reads


def import_public(folder: Path, out: Path) -> dict[str, Any]:
    """Write the model of `folder` into `out`, a model folder; what run.json says of it."""
    check_new(out)
    about = read_json(folder / "config.json")
    name = about.get("model_type")
    if not isinstance(name, str) or name not in KINDS:
        # Without a guess at what was meant: a program wrote this name, and roberta is no slip for bert.
        known = ", ".join((*KINDS, MARIAN))
        raise ModelError(
            f"{folder / 'config.json'}: model_type {name!r} cannot be imported; the types that can: {known}"
        )
    check_weights(folder)
    kind = KINDS[name]
    tokenizer = read_tokenizer(folder, kind)
    table = kind.settings(Numbers(folder / "config.json", about))
    table["model"] |= {"positions": "learned", "embed_scale": False, "tied": True}
    table["train"] = {"batch_tokens": max(TrainConfig().batch_tokens, table["model"]["max_length"])}
    table["text"] = {"tokenizer": "foreign", "vocab_size": len(tokenizer), "joint": True}
    config = build_config(table, where=str(folder / "config.json"))
    tensors, left_out = read_tensors(folder / WEIGHTS, kind, tokenizer, config.model.layers)
    without = {name: said for name, said in (("lacks", kind.lacks), ("left_out", left_out)) if said}
    return write_folder(out, config, tokenizer, tensors, folder, without)


def check_weights(folder: Path) -> None:
    """There is one file of weights, and it is no pickle."""
    if (folder / WEIGHTS).is_file():
        return
    if shards := [file for pattern in SHARDS for file in sorted(folder.glob(pattern))]:
        raise ModelError(
            f"{shards[0]}: the weights are in several files, want one, {WEIGHTS}. Join them: load the model in "
            'transformers and write it again, `model.save_pretrained(DIR, max_shard_size="100GB")`.'
        )
    pickles = sorted(file.name for pattern in PICKLES for file in folder.glob(pattern))
    if pickles:
        raise ModelError(
            f"{folder / pickles[0]}: a pickle, which can run anything when it is loaded, so it is not. "
            f"Convert it to {WEIGHTS} where you trust it: `model.save_pretrained(DIR, safe_serialization=True)`."
        )
    raise ModelError(f"{folder / WEIGHTS}: no such file; want config.json, {WEIGHTS} and tokenizer.json")


def read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"{file}: no such file; want a folder with config.json, {WEIGHTS} and tokenizer.json"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{file}: want a JSON object")
    return content


def read_tokenizer(folder: Path, kind: Kind) -> "ForeignTokenizer":
    import tokenizers

    from seqloom.text.foreign import ForeignTokenizer

    file, named = folder / "tokenizer.json", folder / "special_tokens_map.json"
    specials = kind.specials(read_json(named) if named.is_file() else {})
    if not file.is_file():
        raise ModelError(
            f"{file}: no such file. Make it where the model came from: "
            "`AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)`."
        )
    try:
        engine = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exceptions
        raise ModelError(f"{file}: not a tokenizer, or a damaged one: {error}") from None
    return ForeignTokenizer(engine, specials)


def read_tensors(file: Path, kind: Kind, tokenizer: "ForeignTokenizer", layers: int) -> tuple[dict[str, "Tensor"], str]:
    """Ours, and what of theirs is not among them."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from seqloom.models import imported

    try:
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
    without: dict[str, str],
) -> dict[str, Any]:
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.weights import check_shapes, save_weights
    from seqloom.text.sides import Tokenizers
    from seqloom.workflows.finish import write_facts

    with torch.device("meta"):
        outline = build_model(config, len(tokenizer), len(tokenizer), True)
    wanted = {name: tuple(tensor.shape) for name, tensor in outline.state_dict().items()}
    check_shapes(wanted, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin / WEIGHTS)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    model.load_state_dict(tensors)
    out.mkdir(parents=True, exist_ok=True)
    Tokenizers(tokenizer, tokenizer).save(out)
    (out / "config.toml").write_text(dump_config(config), "utf-8")
    facts = {
        "params": sum(parameter.numel() for parameter in model.parameters()), "step": 0, "finished": True,
        "weights": "imported", "origin": str(origin.name), **without,
    }  # fmt: skip
    write_facts(out, facts)
    save_weights(model, out / WEIGHTS)
    return facts
