"""Edits of a model by hand: heads switched off, attention or gates set. `what_if.py` runs a model with them.

a head is switched off    its attention weights become 0, and with them all that it adds
attention is set          the weights of one output position become the given ones, in every layer and head
a gate is set             all units of a gate become one value at one position
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from seqloom.errors import UsageError

SOURCE_ATTENTION = re.compile(r"decoder\.(attention|cross\.\d+)")
EVERYWHERE = "decoder.attention"  # of a Transformer the mean of its layers goes by this name


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a recording; see `head_off`, `set_attention` and `set_gate`."""

    name: str  # pattern of the recording's full name
    head: int | None = None  # attention of Transformers: only this head
    position: int | None = None  # only this token of the source (encoder) or output (decoder), from 0; None = all
    values: tuple[float, ...] = (0.0,)  # one for all units or source tokens; or, with `each`, one per source token
    each: bool = False


def head_off(name: str, head: int) -> Edit:
    """Switch one head off; `name` such as decoder.cross.0."""
    return Edit(re.escape(name), head=head)


def set_attention(position: int, weights: Sequence[float], name: str = "", head: int | None = None) -> Edit:
    """Attention to the source for output token `position`; the weights are made to sum to 1.

    `name`: only in this layer, such as decoder.cross.0, and only in this head; otherwise in all.
    """
    total = sum(weights)
    if not 0 < total < math.inf or min(weights) < 0:
        raise UsageError("attention weights must not be negative, and one must be above 0")
    if name and not SOURCE_ATTENTION.fullmatch(name):
        raise UsageError(f"{name}: only attention to the source can be set, such as decoder.cross.0")
    everywhere = name in ("", EVERYWHERE)
    values = tuple(weight / total for weight in weights)
    return Edit(SOURCE_ATTENTION.pattern if everywhere else re.escape(name), head, position, values, each=True)


def set_gate(name: str, position: int | None, value: float) -> Edit:
    """All units of a gate, such as encoder.forward.0.gate.forget, at one position; None = at all."""
    if not 0 <= value <= 1:
        raise UsageError(f"gate = {value}: want 0 (closed) to 1 (open)")
    return Edit(re.escape(name), position=position, values=(value,))
