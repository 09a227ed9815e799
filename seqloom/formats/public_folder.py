"""Reads a folder of public weights (Hugging Face layout) from any source: everything that is read is checked first.

Pickles are refused, because loading one runs the code in it. Every number is checked before anything is built from it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from seqloom.config import Config, dump_config
from seqloom.errors import ModelError
from seqloom.files import reading
from seqloom.files.durable import write_new
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.text.sides import Tokenizers

WEIGHTS = "model.safetensors"
SHARDS = ("model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
MOST = 10**6  # upper limit of any size in config.json
SHOWN = 4  # groups of tensors in a message
# Tensors that a model computes itself (position ids, masks, sines) or stores twice: leaving them out loses nothing.
NO_LOSS = (".position_ids", ".attn.bias", ".attn.masked_bias", "embed_positions.weight", "lm_head.weight")
ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "silu",
    "swish": "silu",
}  # fmt: skip  # their names, ours


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
        """Refuse any other value: such a model computes something else, and would be imported wrongly and silently."""
        found = self.content.get(name, value)
        if found is not value:
            raise ModelError(
                f"{self.file}: {name} = {json.dumps(found)}: Seqloom has no model that computes in this way; "
                f"only {name} = {json.dumps(value)} can be imported"
            )

    def fraction(self, name: str, default: float) -> float:
        found = self.content.get(name, default)
        if not isinstance(found, (int, float)) or not 0 <= found < 1:
            raise ModelError(f"{self.file}: {name} = {found!r}: want a number from 0 to below 1")
        return float(found)


def check_weights(folder: Path) -> None:
    """Check that there is one weight file, and that it is not a pickle."""
    if (folder / WEIGHTS).is_file():
        return
    if shards := [file for pattern in SHARDS for file in sorted(folder.glob(pattern))]:
        raise ModelError(
            f"{shards[0]}: the weights are in several files; want one, {WEIGHTS}. Join them: load the model in "
            'transformers and write it again, `model.save_pretrained(DIR, max_shard_size="100GB")`.'
        )
    pickles = sorted(file.name for pattern in PICKLES for file in folder.glob(pattern))
    if pickles:
        raise ModelError(
            f"{folder / pickles[0]}: a pickle; not loaded, because a pickle can run any code. "
            f"If you trust it, convert it to {WEIGHTS}: `model.save_pretrained(DIR, safe_serialization=True)`."
        )
    raise ModelError(f"{folder / WEIGHTS}: no such file; want config.json, {WEIGHTS} and tokenizer.json")


def read_json(file: Path) -> dict[str, Any]:
    try:
        content = reading.read_json(file, reading.TOKENIZER, links=True)  # a download cache links its files
    except FileNotFoundError:
        raise ModelError(
            f"{file}: no such file; want a folder with config.json, {WEIGHTS} and tokenizer.json"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{file}: want a JSON object")
    return content


def describe_left_out(names: Iterable[str]) -> str:
    """The tensors that are lost, as `classifier (2 tensors), encoder.layer.2 (16 tensors)`; empty if none is."""
    groups = Counter(beginning(name) for name in sorted(names) if not name.endswith(NO_LOSS))
    shown = [f"{group} ({number} tensor{'s' * (number > 1)})" for group, number in groups.items()]
    more = [f"{len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return ", ".join(shown[:SHOWN] + more)


def beginning(name: str) -> str:
    """The name up to the layer number, or else its first two words; without the last word (weight or bias)."""
    words = name.split(".")
    number = next((place for place, word in enumerate(words, start=1) if word.isdecimal()), min(2, len(words) - 1))
    return ".".join(words[: max(1, number)])


def write_settings(out: Path, config: Config, tokenizers: Tokenizers, facts: RunFacts) -> None:
    """Write the whole model folder except the weights."""
    tokenizers.save(out)
    write_new(out / "config.toml", dump_config(config))
    write_facts(out, facts)
