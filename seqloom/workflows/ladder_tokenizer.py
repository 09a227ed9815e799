"""The one tokenizer of a ladder, and ladder.json, which says what it was learned from."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import data_hash, describe_corpus
from seqloom.errors import ModelError, UsageError
from seqloom.text.sides import FOLDER, Tokenizers
from seqloom.train.durable import replace_file
from seqloom.workflows.gather import learn_tokenizers, refuse_bad_data

FILE = "ladder.json"


def make_tokenizer(
    out: Path,
    pairs: CorpusSpec,
    valid: CorpusSpec | None,
    config: Config,
    allow_loss: bool,
    tell: Callable[[str], None],
    quiet: bool,
) -> Tokenizers:
    """Learned as the first rung's recipe says, for all: else a step would also be one of vocabularies.

    ladder.json is empty until the tokenizer is whole: a call that was killed between is known by that.
    """
    origin = describe_origin(pairs, config)
    if (out / FOLDER).exists() and (saved := read_origin(out)):
        refuse_other(out, saved, origin)
        return Tokenizers.load(out)
    refuse_bad_data([pairs], valid, config, allow_loss, lambda findings: None)  # told by each rung
    replace_file(out / FILE, b"{}")
    tokenizers = learn_tokenizers([pairs], config, tell, quiet)
    tokenizers.save(out)
    replace_file(out / FILE, json.dumps(origin, indent=1).encode())
    return tokenizers


def describe_origin(pairs: CorpusSpec, config: Config) -> dict[str, Any]:
    """All that a tokenizer depends on: the files by their content, and settings."""
    text = {f"text.{name}": setting for name, setting in asdict(config.text).items()}
    data = {f"data.{name}": getattr(config.data, name) for name in ("normalise", "max_chars")}
    return {"hash of the data": data_hash(describe_corpus(pairs, {}))[:12], **text, **data}


def read_origin(out: Path) -> dict[str, Any]:
    """What the tokenizer there was learned from; empty when it was not finished."""
    try:
        return dict(json.loads((out / FILE).read_text("utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{out / FILE}: cannot be read ({error}). Delete it and {out / FOLDER}, and the tokenizer is learned anew."
        ) from None


def refuse_other(out: Path, saved: dict[str, Any], origin: dict[str, Any]) -> None:
    names = [name for name in origin if saved.get(name) != origin[name]]
    if names:
        rows = "\n".join(f"  {name}: {saved.get(name)!r} there, {origin[name]!r} now" for name in names)
        raise UsageError(
            f"{out} holds a ladder whose tokenizer was learned otherwise:\n{rows}\n"
            "Give the same data and settings (text.* are those of its first rung), or choose another --out."
        )
