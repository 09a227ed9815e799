"""The one tokenizer of a ladder, and ladder.json, which records what it was learned from."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import data_hash, describe_corpus
from seqloom.data.text_spool import TextSpool
from seqloom.errors import ModelError, UsageError
from seqloom.files.durable import replace_file
from seqloom.files.reading import SETTINGS, read_json
from seqloom.text.sides import FOLDER, Tokenizers
from seqloom.training.data import refuse_bad_data
from seqloom.training.tokenizers import learn_tokenizers, sides_to_learn

FILE = "ladder.json"
Origin = dict[str, str | int | float | bool]  # the content of ladder.json, under the names that messages show


def make_tokenizer(
    out: Path,
    pairs: CorpusSpec,
    valid: CorpusSpec | None,
    config: Config,
    allow_loss: bool,
    tell: Callable[[str], None],
    quiet: bool,
) -> Tokenizers:
    """Learn one tokenizer for all rungs, with the first rung's recipe, so that no step changes the vocabulary too.

    ladder.json is empty until the tokenizer is complete: this shows that a call was killed before that.
    """
    origin = describe_origin(pairs, config)
    if (out / FOLDER).exists() and (saved := read_origin(out)):
        refuse_other(out, saved, origin)
        return Tokenizers.load(out)
    with TextSpool(out, sides_to_learn(config)) as spool:
        refuse_bad_data(
            [pairs], valid, config, allow_loss, lambda findings: None, [spool.add]
        )  # each rung prints the findings
        replace_file(out / FILE, b"{}")
        tokenizers = learn_tokenizers(spool, config, tell, quiet)
    tokenizers.save(out)
    replace_file(out / FILE, json.dumps(origin, indent=1).encode())
    return tokenizers


def describe_origin(pairs: CorpusSpec, config: Config) -> Origin:
    """Return everything that a tokenizer depends on: the content of the files, and settings."""
    text = {f"text.{name}": setting for name, setting in asdict(config.text).items()}
    data = {f"data.{name}": getattr(config.data, name) for name in ("normalise", "max_chars")}
    return {"hash of the data": data_hash(describe_corpus(pairs))[:12], **text, **data}


def read_origin(out: Path) -> Origin:
    """Return what the tokenizer in `out` was learned from; empty if it was not finished."""
    try:
        return dict(read_json(out / FILE, SETTINGS))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{out / FILE}: cannot be read ({error}). Delete it and {out / FOLDER} to learn the tokenizer again."
        ) from None


def refuse_other(out: Path, saved: Origin, origin: Origin) -> None:
    names = [name for name in origin if saved.get(name) != origin[name]]
    if names:
        rows = "\n".join(f"  {name}: {saved.get(name)!r} there, {origin[name]!r} now" for name in names)
        raise UsageError(
            f"{out} holds a ladder whose tokenizer was learned in another way:\n{rows}\n"
            "Give the same data and settings (text.* are those of its first rung), or choose another --out."
        )
