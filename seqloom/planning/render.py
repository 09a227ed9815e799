"""A forecast in words, for the terminal."""

from collections.abc import Sequence

from seqloom.planning.deal import PartOfStep
from seqloom.planning.forecast import Forecast

LEAST_SHARE = 0.005
MOST_PARTS = 64  # listed one by one


def render(found: Forecast, about: dict[str, str], notes: Sequence[str]) -> str:
    """The forecast, one subject per line; about: data, recipe and machine in words."""
    rows = dict(about)
    rows["model"] = (
        f"{found.params:,} parameters, {scaled(found.flops_per_token, 'FLOP')} per target token (forward and backward)"
    )
    parts = f", each of {found.parts} parts" if found.parts > 1 else ""
    rows["updates"] = (
        f"{found.updates:,}{parts} of {found.tokens_per_update:,.0f} target tokens: {found.epochs:.2f} epochs, until "
        f"{found.ends}"
    )
    rows["speed"] = (
        f"{found.tokens_per_second:,.0f} target tokens per second, {duration(found.seconds_per_update)} per update "
        f"(MFU {100 * found.mfu:.0f} %)"
    )
    rows["time"] = (
        f"{duration(found.total)}: training {duration(found.training)}, loss on the validation data "
        f"{duration(found.validation)}"
    )
    shares = sorted(found.share.items(), key=lambda entry: -entry[1])
    rows["where it goes"] = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares if share >= LEAST_SHARE)
    rows["memory"] = sizes(found.memory) + (" per process" if found.processes > 1 else "")
    rows["disk"] = sizes(found.disk)
    if found.processes > 1:
        rows["network"] = f"each of {found.processes} processes sends {size(found.sent)} per update"
    width = max(map(len, rows)) + 2
    return "\n".join([*(f"{name:<{width}}{text}" for name, text in rows.items()), *(f"note: {note}" for note in notes)])


def render_deal(parts: Sequence[PartOfStep], world: int, params: int) -> str:
    """What every process does in a step, with the batches of step 1."""
    lines = [
        f"A step has {len(parts)} part{'s' * (len(parts) > 1)}; part p is computed by process p mod {world}. "
        f"Each process sums the gradients of about {params // world:,} parameters, in the order of the parts."
    ]
    for process in range(world):
        own = [part for part in parts if part.process == process]
        role = "; writes the run folder" if process == 0 else ""
        named = ", ".join(str(part.number) for part in own[:MOST_PARTS]) + (", ..." if len(own) > MOST_PARTS else "")
        lines.append(f"process {process}: parts {named} of every step{role}")
        for part in own[:MOST_PARTS]:
            shape = f"{part.rows} x {part.source} source tokens"
            shape += f" and {part.rows} x {part.target} target tokens" if part.target > 1 else ""
            lines.append(f"  part {part.number} of a step like step 1: {shape}, with padding; first row: {part.first}")
    return "\n".join(lines)


def sizes(parts: dict[str, float]) -> str:
    """The sum first, where there is one, then its parts."""
    named = ", ".join(f"{name} {size(number)}" for name, number in parts.items() if name != "all")
    return f"{size(parts['all'])}: {named}" if "all" in parts else named


def size(number: float) -> str:
    return scaled(number, "B")


def scaled(number: float, unit: str) -> str:
    """`1.2 GB`."""
    for prefix, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if number >= factor:
            return f"{number / factor:.3g} {prefix}{unit}"
    return f"{number / 1e3:.3g} k{unit}"


def duration(seconds: float) -> str:
    """`3 d 4 h`, `2 h 10 min`, `4 min`, `1.2 s`: two units at most."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
