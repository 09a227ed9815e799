"""Learning rates per part of the model:  train.rates = "encoder=0.1, source_table=0".

    lr(w) = share(part of w) * learning rate          share 1 by default; 0 = frozen: no gradient, no memory

A part is the beginning of a tensor's name, up to a dot: `encoder`, or `encoder.0` for its first layer. The longest part
that fits counts. Warm-up and schedules: schedules.py.
"""

import math
from collections.abc import Collection, Iterable

from torch import nn

from seqloom.errors import UsageError, did_you_mean

WANTED = "want parts with a number, e.g. 'encoder=0.1, source_table=0'"


def parse_rates(text: str) -> dict[str, float]:
    """Parse train.rates: part -> share of the learning rate."""
    rates = {}
    for entry in filter(str.strip, text.split(",")):
        part, equals, number = entry.partition("=")
        try:
            rate = float(number)
        except ValueError:
            rate = math.nan
        if not (equals and part.strip() and 0 <= rate < math.inf):
            raise UsageError(f"train.rates = {text!r}: {entry.strip()!r}: {WANTED}")
        rates[part.strip()] = rate
    return rates


def rates_of(model: nn.Module, text: str) -> dict[str, float]:
    """Return the share of each tensor that `text` mentions, by its first name; a UsageError for an unknown part."""
    rates = parse_rates(text)
    names: dict[nn.Parameter, list[str]] = {}  # tied tensors have several
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    refuse_unknown(rates, [name for aliases in names.values() for name in aliases], text)
    found: dict[str, float] = {}
    for aliases in names.values():
        parts = [part for name in aliases if (part := longest_part(name, rates))]
        if len({rates[part] for part in parts}) > 1:
            raise UsageError(
                f"train.rates = {text!r}: {' and '.join(dict.fromkeys(parts))} share a tensor ({', '.join(aliases)}): "
                "give them one rate, or set model.tied=false"
            )
        if parts:
            found[aliases[0]] = rates[parts[0]]
    return found


def longest_part(name: str, parts: Iterable[str]) -> str:
    return max((part for part in parts if name == part or name.startswith(f"{part}.")), key=len, default="")


def refuse_unknown(rates: Iterable[str], names: Collection[str], text: str) -> None:
    for part in rates:
        if not any(longest_part(name, [part]) for name in names):
            parts = list(dict.fromkeys(name.partition(".")[0] for name in names))
            raise UsageError(
                f"train.rates = {text!r}: {part}: no such part.{did_you_mean(part, parts)} "
                f"This model has: {', '.join(parts)}"
            )


def freeze(model: nn.Module, text: str, known: Collection[str] = ()) -> None:
    """Freeze the tensors with rate 0, and those in `known` (by any of their names) that have no rate."""
    rates = rates_of(model, text)
    names = dict(model.named_parameters())
    fixed = {id(tensor) for name, tensor in model.named_parameters(remove_duplicate=False) if name in known}
    for name, parameter in names.items():
        parameter.requires_grad_(rates.get(name, 0.0 if id(parameter) in fixed else 1.0) > 0)
    if not any(parameter.requires_grad for parameter in names.values()):
        raise UsageError(f"train.rates = {text!r}: every tensor is frozen, so there is nothing to learn")
