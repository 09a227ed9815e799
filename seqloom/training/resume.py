"""Resume a run only with the settings and the data that it was started with."""

import dataclasses
from pathlib import Path

from seqloom.config import Config
from seqloom.errors import UsageError
from seqloom.runtime.folder import read_config

MAY_CHANGE = {  # they change only the end of the run, its log, or how it is used
    "train.max_steps", "train.max_epochs", "train.patience", "train.log_every", "train.keep",
    "decode.beam", "decode.length_penalty", "decode.coverage_penalty", "decode.min_length", "decode.no_repeat_ngram",
    "decode.batch_size",
}  # fmt: skip


def check_same_settings(folder: Path, wanted: Config) -> None:
    """Raise a UsageError with a diff when the run in this folder was started with other settings."""
    both = read_config(folder), wanted
    saved, now = (flatten(config) | {"train.precision": precision_of(config)} for config in both)
    changed = {name: (saved[name], got) for name, got in now.items() if got != saved[name] and name not in MAY_CHANGE}
    if changed:
        rows = "\n".join(f"  {name}: {old!r} there, {new!r} now" for name, (old, new) in changed.items())
        raise UsageError(
            f"{folder} holds a run with other settings:\n{rows}\nUse the old settings, or choose another --out."
        )


def precision_of(begun: Config) -> str:
    """Return the precision of a run that has started; folders of version 0.1.0 do not record it: float32."""
    return "float32" if begun.train.precision == "auto" else begun.train.precision


def flatten(config: Config) -> dict[str, object]:
    return {
        f"{section}.{name}": setting
        for section, settings in dataclasses.asdict(config).items()
        for name, setting in settings.items()
    }


def check_same_data(folder: Path, saved_hash: str, wanted_hash: str) -> None:
    if saved_hash != wanted_hash:
        raise UsageError(
            f"{folder} was trained on other data: hash {saved_hash[:12]} there, {wanted_hash[:12]} now. "
            "Give the same files and tokenizer, or choose another --out."
        )
