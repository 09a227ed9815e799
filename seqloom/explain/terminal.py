"""Draws the explain document in the terminal: the answer, where the model looked, what else it considered, and so on.

Every view has a compact form: matrices are heat maps (`heatmap`), the search is a tree, the rest are tables and strips.
Text of models and files goes through `safe`: it can neither colour nor command the terminal.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from seqloom.explain.beam_tree import beam
from seqloom.explain.document import Explained, Lane, Map
from seqloom.explain.heatmap import render_heatmap, safe, token
from seqloom.explain.points import Curve, Phrases

BLOCKS = "▁▂▃▄▅▆▇█"
MOST_ALTERNATIVES = 3
DECADES = 8  # of a logarithmic scale; smaller numbers look like 0
CURVE_WIDTH = 48


def render(document: Explained, console: Console) -> None:
    """Print every view of the document."""
    for lane in document.lanes:
        if len(document.lanes) > 1:
            console.rule(Text(safe(lane.model)), align="left", style="dim")
        for part in parts_of(lane, console):
            console.print(part, soft_wrap=isinstance(part, Text))
            console.print()
    for phrases in document.phrases:
        console.print(phrase_table(phrases))
    if document.curves:
        console.print(curve_table(document.curves))


def parts_of(lane: Lane, console: Console) -> Iterable[RenderableType]:
    """What is printed about one model, in order."""
    yield answer(lane)
    if lane.steps:
        yield step_table(lane)
    for view in lane.views():
        drawing = DRAWINGS.get(view)
        if drawing:
            yield from drawing(lane, console)


def answer(lane: Lane) -> Text:
    """Source, answer, reference and notes."""
    text = Text(f"{safe(lane.source.text)}\n")
    text.append("-> ", "dim").append(safe(" ".join(lane.answers)), "bold")
    if lane.score is not None:
        text.append(f"   (score {lane.score:.3f})", "dim")
    if lane.reference:
        text.append("\nreference: ", "dim").append(safe(lane.reference))
    for note in lane.notes:
        text.append(f"\nnote: {safe(note)}", "dim")
    return text


def step_table(lane: Lane) -> Table:
    """One row per output token: its probability and the tokens that the model considered instead."""
    table = headed("token", "probability", "rank", "what else")
    for piece, step in zip(labels(lane, "target", len(lane.steps)), lane.steps, strict=True):
        others = [choice for choice in step.top if choice.log_prob != step.log_prob][:MOST_ALTERNATIVES]
        words = ", ".join(f"{token(choice.piece)} {math.exp(choice.log_prob):.2f}" for choice in others)
        share = math.exp(step.log_prob)
        table.add_row(Text(piece), f"{share:.3f} {block(share)}", str(step.rank), Text(words))
    return table


def labels(lane: Lane, axis: str, size: int) -> list[str]:
    """The tokens of an axis, safe for the terminal; numbers for an axis without tokens."""
    source, target = [one.piece for one in lane.source.tokens], lane.written
    known = {"source": source, "target": target, "prefix": ["<s>", *target]}
    pieces = known.get(axis, [])
    return [token(pieces[at]) if at < len(pieces) else str(at) for at in range(size)]


def block(share: float) -> str:
    return BLOCKS[min(len(BLOCKS) - 1, max(0, int(share * len(BLOCKS))))]


def headed(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False, header_style="dim")


def titled(title: str, part: RenderableType) -> Group:
    return Group(Text(safe(title), "bold"), part)


def heat(
    console: Console, title: str, rows: Sequence[str], columns: Sequence[str], shares: NDArray[np.floating], what: str
) -> Text:
    """A heat map of shares between 0 and 1 with its title."""
    document = {"version": 1, "kind": "alignment", "source": [*columns], "target": [*rows]}
    weights = np.clip(np.nan_to_num(shares), 0, 1).astype(float).round(6).tolist()
    colour = console.is_terminal and console.color_system is not None
    drawn = render_heatmap(document | {"weights": weights}, width=console.width, colour=colour, what=what)
    return Text(f"{safe(title)}\n", "bold").append_text(drawn)


def matrix(found: Map) -> NDArray[np.float32]:
    """The last two axes of a map; the mean over the others (heads)."""
    values = found.values
    return np.asarray(values.mean(axis=tuple(range(values.ndim - 2))) if values.ndim > 2 else values)


def weights_of(view: str, relative: bool = False) -> Callable[[Lane, Console], Iterable[RenderableType]]:
    """Draws the first map of a view for each pair of axes; of several heads the mean. `relative`: to the largest."""

    def draw(lane: Lane, console: Console) -> Iterable[RenderableType]:
        maps = [found for found in lane.maps if found.view == view]
        for axes in dict.fromkeys((*found.axes[-2:],) for found in maps):
            found = next(one for one in maps if (*one.axes[-2:],) == axes)
            values = np.abs(matrix(found))
            rows, columns = (labels(lane, axis, size) for axis, size in zip(axes, values.shape, strict=True))
            size = float(values.max(initial=0)) or 1.0 if relative else 1.0
            what = "of the largest" if relative else "weight"
            heads = ", mean over the heads" if len(found.axes) > 2 else ""
            yield heat(console, f"{view}: {found.name}{heads}", rows, columns, values / size, what)

    return draw


def gates(lane: Lane, console: Console) -> Iterable[RenderableType]:
    """One strip per gate under the tokens: the mean over the units, or the mean size of numbers with a sign."""
    groups: dict[str, list[Map]] = {}
    for found in lane.maps:
        if found.view == "gates" and found.trained:
            groups.setdefault(found.name.rpartition(".")[0].rpartition(".")[0], []).append(found)
    for where, maps in groups.items():
        means = [np.abs(found.values).mean(-1) for found in maps]
        strips = np.stack([mean / max(1.0, float(mean.max(initial=0))) for mean in means])
        columns = labels(lane, maps[0].axes[0], maps[0].shape[0])
        names = [f"|{name}|" if one.low < 0 else name for one in maps for name in [one.name.rpartition(".")[2]]]
        yield heat(console, f"gates: {where}, mean over {maps[0].shape[-1]} units", names, columns, strips, "open")


def gradients(lane: Lane, console: Console) -> Iterable[RenderableType]:
    """The flow matrix on one logarithmic scale for trained and fresh weights, and its decay with the distance."""
    maps = [found for found in lane.maps if found.view == "gradients" and len(found.shape) == 2]
    high = max((found.high for found in maps), default=0.0) or 1.0
    least = min((float(found.values[found.values > 0].min(initial=high)) for found in maps), default=high)
    low = max(least, high * 10.0**-DECADES)
    for found in maps:
        with np.errstate(divide="ignore"):
            shares = np.log10(found.values / low) / (math.log10(high / low) or 1)
        rows, columns = (labels(lane, axis, size) for axis, size in zip(found.axes, found.shape, strict=True))
        title = f"gradients: {found.name}, {weights(found.trained)}; logarithmic from {low:.1e} to {high:.1e}"
        yield heat(console, title, rows, columns, shares, "from lowest (0) to highest (1)")
    table = headed("weights", "norm by distance", "slope per token")
    for decay in lane.decay:
        logs = [math.log10(norm) if norm > 0 else -math.inf for norm in decay.norm]
        slope = "-" if decay.slope is None else f"{decay.slope:.3f}"
        table.add_row(f"{weights(decay.trained)}, {decay.map}", strip(logs), slope)
    if lane.decay:
        yield titled("gradient by distance between tokens", table)


def weights(trained: bool) -> str:
    return "trained" if trained else "fresh weights"


def attribution(lane: Lane, console: Console) -> Iterable[RenderableType]:
    """The heat map of each method, and whether attention agrees."""
    yield from weights_of("attribution", relative=True)(lane, console)
    if lane.agreement:
        table = headed("attention", "attribution", "Kendall tau", "uniform attention")
        for one in lane.agreement:
            numbers = ["-" if number is None else f"{number:.2f}" for number in (one.tau, one.control)]
            table.add_row(one.first, one.second, *numbers)
        yield titled("agreement with attention", table)


def heads(lane: Lane, console: Console) -> Iterable[RenderableType]:
    """What each head does: one row per layer."""
    assert lane.heads is not None
    found = lane.heads.heads
    most = 1 + max((head.head for head in found), default=0)
    table = headed("layer", *(f"head {head + 1}" for head in range(most)))
    for name in dict.fromkeys(head.map for head in found):
        row = {head.head: f"{head.role} {head.roles.get(head.role, 0):.2f}" for head in found if head.map == name}
        table.add_row(name, *(row.get(head, "") for head in range(most)))
    many = "1 sentence" if lane.heads.sentences == 1 else f"{lane.heads.sentences} sentences"
    yield titled(f"heads, over {many}", table)


def states(lane: Lane, console: Console) -> Iterable[RenderableType]:
    for path in lane.paths:
        explained = ", ".join(f"{share:.0%}" for share in path.explained[:2])
        table = headed("token", "axis 1", "axis 2")
        for piece, point in zip(labels(lane, path.axis, len(path.points)), path.points, strict=True):
            table.add_row(Text(piece), *(f"{value:.2f}" for value in point[:2]))
        yield titled(f"states: {path.name}; {explained} of the variance", table)


def lens(lane: Lane, console: Console) -> Iterable[RenderableType]:
    table = headed("reads", "writes")
    for reading in lane.lens:
        table.add_row(f"{reading.kind} {reading.number}", Text(safe(reading.text)))
    yield titled("lens: what the decoder would write", table)


def positions(lane: Lane, console: Console) -> Iterable[RenderableType]:
    for found in lane.maps:
        if found.view == "positions" and found.axes[-1] == "position":
            names = [str(at) for at in range(found.shape[-1])]
            yield heat(console, f"positions: {found.about}", names, names, matrix(found), "similarity")


def phrase_table(phrases: Phrases) -> Group:
    table = headed("sentence", "label", "axis 1", "axis 2")
    for phrase in phrases.points:
        place = (f"{value:.2f}" for value in phrase.point[:2])
        table.add_row(Text(safe(phrase.text)), Text(safe(phrase.label)), *place)
    return titled(f"{phrases.model}: {phrases.about}", table)


def curve_table(curves: Sequence[Curve]) -> Group:
    table = headed("run", "figure", "over the steps", "first", "last")
    for curve in curves:
        if curve.values:
            ends = (f"{curve.values[0]:.4g}", f"{curve.values[-1]:.4g} {curve.unit}".rstrip())
            table.add_row(Text(safe(curve.run)), curve.name, strip(curve.values), *ends)
    return titled("curves", table)


def strip(values: Sequence[float]) -> str:
    """Numbers as blocks, lowest to highest; many numbers are thinned out."""
    usable = [value for value in values if math.isfinite(value)]
    if not usable:
        return ""
    low, high = min(usable), max(usable)
    kept = [values[round(at)] for at in np.linspace(0, len(values) - 1, min(len(values), CURVE_WIDTH))]
    return "".join(block((value - low) / ((high - low) or 1)) if math.isfinite(value) else " " for value in kept)


DRAWINGS: dict[str, Callable[[Lane, Console], Iterable[RenderableType]]] = {
    "attention": weights_of("attention"), "self": weights_of("self"), "heads": heads, "gates": gates,
    "gradients": gradients, "attribution": attribution, "states": states, "lens": lens, "positions": positions,
    "beam": lambda lane, _: beam(lane),
}  # fmt: skip
