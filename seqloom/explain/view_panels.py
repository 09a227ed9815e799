"""The panels of each view for a picture: one or more rows per model that has the view.

Heads are averaged except in the view `heads`.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.explain.charts import COLOURS, plain
from seqloom.explain.document import Explained, Head, Lane, Map, Node, Reading
from seqloom.explain.panels import CELL, Panel, Row, heat, heat_of, labels, points, rows_of
from seqloom.explain.points import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_UNITS = 200  # rows of a panel; more would be thinner than a pixel
LONGEST_TITLE = 80


def panels_of(document: Explained, view: str) -> list[Row]:
    """Rows of panels with their titles."""
    if view == "curves":
        return curves(document)
    if view == "phrases":
        return phrases(document)
    lanes = [lane for lane in document.lanes if view in lane.views()]
    return [row for lane in lanes for row in rows_of(title(lane), PANELS[view](lane))]


def title(lane: Lane) -> str:
    text = lane.source.text
    return f"{lane.model}: {text[:LONGEST_TITLE]}{'...' if len(text) > LONGEST_TITLE else ''}"


def maps_of(lane: Lane, view: str) -> list[Map]:
    return [found for found in lane.maps if found.view == view]


def weights(view: str) -> Callable[[Lane], list[Panel]]:
    """All maps of a view, heads averaged."""

    def panel(lane: Lane, found: Map) -> Panel:
        name = f"{found.name}, mean over the heads" if len(found.axes) > 2 else found.name
        return heat_of(lane, found, name, **signed(found) if found.low < 0 else {"vmin": 0})

    return lambda lane: [panel(lane, found) for found in maps_of(lane, view)]


def signed(found: Map) -> dict[str, Any]:
    """Colours around 0: purple above, orange below, as on the page."""
    size = max(-found.low, found.high)
    return {"cmap": "PuOr", "vmin": -size, "vmax": size}


def heads(lane: Lane) -> list[Panel]:
    """The roles of all heads; and if the document has their weights, every head as a small matrix."""
    assert lane.heads is not None
    found, known = lane.heads.heads, {one.name for one in lane.maps}
    drawn = []
    for name in dict.fromkeys(head.map for head in found):
        mine = [head for head in found if head.map == name]
        if name in known:
            drawn.append(thumbnails(name, mine, lane.map(name).values))
        else:
            roles = np.array([[*head.roles.values()] for head in mine], np.float32)
            rows = [f"{head.head + 1}: {head.role}" for head in mine]
            drawn.append(heat(name, roles, rows, list(mine[0].roles), vmin=0, vmax=1))
    return drawn


def thumbnails(name: str, found: Sequence[Head], values: NDArray[np.float32]) -> Panel:
    """One column of small matrices, one per head."""

    def draw(axes: "Axes") -> None:
        axes.set_axis_off()
        for at, head in enumerate(found):
            part = axes.inset_axes((0.05, 1 - (at + 1) / len(found), 0.9, 0.8 / len(found)))
            part.imshow(values[head.head], aspect="auto", cmap="Blues", interpolation="nearest")
            part.set(xticks=[], yticks=[])
            part.set_title(f"{head.head + 1}: {head.role}", fontsize=7, pad=2)

    return Panel(name, 1.3, 1.35 * len(found), draw)


def gates(lane: Lane) -> list[Panel]:
    """Units x time of each gate, units sorted by the token at which they are largest."""
    drawn = []
    for found in maps_of(lane, "gates"):
        units = found.values.T
        units = units[np.argsort(units.argmax(1), kind="stable")][:: math.ceil(len(units) / MOST_UNITS)]
        style = signed(found) if found.low < 0 else {"vmin": 0, "vmax": max(1.0, found.high)}
        columns = labels(lane, found.axes[0], found.shape[0])
        panel = heat(found.name, units, [""] * len(units), columns, **style)
        drawn.append(Panel(panel.title, panel.width, 2.4, panel.draw))
    return drawn


def gradients(lane: Lane) -> list[Panel]:
    """Trained and fresh weights on one logarithmic scale, and the decay with the distance."""
    from matplotlib.colors import LogNorm

    maps = [found for found in maps_of(lane, "gradients") if len(found.shape) == 2]
    high = max((found.high for found in maps), default=1.0) or 1.0
    scale = {"norm": LogNorm(high * 1e-8, high, clip=True), "cmap": "viridis"}
    drawn = [heat_of(lane, found, f"{found.name}, {trained(found.trained)}", **scale) for found in maps]

    def decay(axes: "Axes") -> None:
        for number, one in enumerate(lane.decay):
            name = f"{trained(one.trained)}{'' if one.slope is None else f', slope {one.slope:.2f}'}"
            dash, colour = "-" if one.trained else "--", COLOURS[number % len(COLOURS)]
            axes.plot(one.distance, one.norm, dash, color=colour, label=name)
        axes.set(yscale="log", xlabel="distance in tokens", ylabel="mean norm")
        axes.legend(frameon=False)

    return drawn + ([Panel("gradient by distance", 3.6, 2.8, decay)] if lane.decay else [])


def trained(is_trained: bool) -> str:
    return "trained" if is_trained else "fresh weights"


def attribution(lane: Lane) -> list[Panel]:
    """The share of the source per step, then the maps of all methods."""
    shares = [step.source_share for step in lane.steps]
    drawn = weights("attribution")(lane)
    if all(share is None for share in shares):
        return drawn

    def bars(axes: "Axes") -> None:
        known = [share or 0.0 for share in shares]
        axes.bar(range(len(known)), known, color=COLOURS[0], label="source")
        axes.bar(range(len(known)), [1 - one for one in known], bottom=known, color=COLOURS[1], label="already written")
        axes.set_xticks(range(len(known)), labels(lane, "target", len(known)), rotation=90)
        axes.legend(loc="lower left")

    return [Panel("share of the source per step", max(3.0, CELL * len(shares)), 2.4, bars), *drawn]


def states(lane: Lane) -> list[Panel]:
    def panel(path: Path) -> Panel:
        names = labels(lane, path.axis, len(path.points))
        found = [(name, "", point) for name, point in zip(names, path.points, strict=True)]
        return points(path.name, found, path.explained, joined=True)

    return [panel(path) for path in lane.paths]


def phrases(document: Explained) -> list[Row]:
    rows = []
    for one in document.phrases:
        found = [(phrase.text, phrase.label, phrase.point) for phrase in one.points]
        rows += rows_of(f"{one.model}: {one.about}", [points(f"{len(found)} sentences", found, one.explained, False)])
    return rows


def beam(lane: Lane) -> list[Panel]:
    """The tree: steps to the right, the best on top; pruned branches dashed."""
    assert lane.beam is not None
    nodes = {node.id: node for node in lane.beam.nodes}
    by_step: dict[int, list[Node]] = {}
    for node in sorted(nodes.values(), key=lambda one: (one.rank, -one.score)):
        by_step.setdefault(node.step, []).append(node)
    rows = {node.id: row for found in by_step.values() for row, node in enumerate(found)}
    steps, most = max(by_step, default=1), max(map(len, by_step.values()), default=1)

    def draw(axes: "Axes") -> None:
        for node in nodes.values():
            parent, row = nodes.get(node.parent), rows[node.id]
            start = (parent.step, rows[parent.id]) if parent else (0, 0)
            colour, width = (COLOURS[0], 2.5) if node.best else ("#999999", 0.8)
            dash = "--" if node.fate == "pruned" else "-"
            axes.plot([start[0], node.step], [start[1], row], dash, color=colour, lw=width, zorder=1)
            box = {"boxstyle": "round", "fc": "white", "ec": colour, "ls": dash}
            text = f"{plain(node.token.piece)}\n{node.score:.2f}"
            axes.text(node.step, row, text, ha="center", va="center", fontsize=7, bbox=box, zorder=2)
        axes.set(xlabel="step", yticks=[], xlim=(-0.3, steps + 0.7), ylim=(most - 0.3, -0.7))

    return [Panel(lane.beam.verdict or f"beam of {lane.beam.width}", 0.75 * (steps + 1), 0.5 * most + 0.6, draw)]


def lens(lane: Lane) -> list[Panel]:
    """What the decoder would write, coloured by probability: one panel per kind of reading."""

    def panel(kind: str, readings: Sequence[Reading]) -> Panel:
        most = max(1, *(len(reading.pieces) for reading in readings))
        shares = np.full((len(readings), most), np.nan, np.float32)
        for row, reading in enumerate(readings):
            shares[row, : len(reading.log_probs)] = np.exp(reading.log_probs[:most])
        under = heat(
            kind, shares, [str(reading.number) for reading in readings], [""] * most, vmin=0, vmax=1, alpha=0.6
        )

        def draw(axes: "Axes") -> None:
            under.draw(axes)
            for row, reading in enumerate(readings):
                for column, piece in enumerate(reading.pieces):
                    axes.text(column, row, plain(piece), ha="center", va="center", fontsize=7)

        return Panel(kind, 0.7 * most + 1, 0.35 * len(readings) + 0.5, draw)

    kinds = dict.fromkeys(reading.kind for reading in lane.lens)
    return [panel(kind, [reading for reading in lane.lens if reading.kind == kind]) for kind in kinds]


def positions(lane: Lane) -> list[Panel]:
    return [heat_of(lane, found, found.about, **signed(found)) for found in maps_of(lane, "positions")]


def curves(document: Explained) -> list[Row]:
    """One chart per figure, one line per run."""
    runs = list(dict.fromkeys(curve.run for curve in document.curves))

    def panel(name: str) -> Panel:
        mine = [curve for curve in document.curves if curve.name == name]

        def draw(axes: "Axes") -> None:
            for curve in mine:
                colour = COLOURS[runs.index(curve.run) % len(COLOURS)]
                axes.plot(curve.steps, curve.values, color=colour, label=plain(curve.run))
            axes.set(xlabel="step", ylabel=mine[0].unit or name)
            axes.legend(frameon=False)

        return Panel(name, 3.8, 2.6, draw)

    return rows_of(", ".join(runs), [panel(name) for name in dict.fromkeys(curve.name for curve in document.curves)])


PANELS: dict[str, Callable[[Lane], list[Panel]]] = {
    "attention": weights("attention"), "self": weights("self"), "heads": heads, "gates": gates, "gradients": gradients,
    "attribution": attribution, "states": states, "beam": beam, "lens": lens, "positions": positions,
}  # fmt: skip
