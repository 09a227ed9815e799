"""Panels of a picture: a heat map, labelled points or lines, drawn by matplotlib, each with its size in inches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.explain.charts import COLOURS, plain
from seqloom.explain.document import Lane, Map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = 0.26  # inches per token
PAGE = 14.0  # inches that panels may fill side by side
MAP = (6.0, 4.8)  # inches of a map of points
POINTS_PER_INCH = 72
DOT, LETTER, TALL = 4.0, 4.8, 11.0  # points: half of a dot, width of a letter, height of a line of text
MOST_LABELS = 80  # tokens on an axis; more labels would cover each other
Point = tuple[str, str, Sequence[float]]  # text, label, place


@dataclass(frozen=True, slots=True)
class Panel:
    """A drawing with its title and its size."""

    title: str
    width: float
    height: float
    draw: "Callable[[Axes], None]"


Row = tuple[str, list[Panel]]


def rows_of(name: str, panels: Sequence[Panel]) -> list[Row]:
    """Panels in rows that fit on a page, the name before the first row."""
    rows: list[Row] = []
    for panel in panels:
        if rows and sum(one.width for one in rows[-1][1]) + panel.width <= PAGE:
            rows[-1][1].append(panel)
        else:
            rows.append(("" if rows else name, [panel]))
    return rows


def labels(lane: Lane, axis: str, size: int) -> list[str]:
    """The tokens of an axis; numbers for an axis without tokens."""
    source, target = [one.piece for one in lane.source.tokens], lane.written
    known = {"source": source, "target": target, "prefix": ["<s>", *target]}
    pieces = known.get(axis, [])
    return [plain(pieces[at]) if at < len(pieces) else str(at) for at in range(size)]


def mean_matrix(found: Map) -> NDArray[np.float32]:
    """The last two axes of a map; the mean over the others (heads)."""
    values = found.values
    return np.asarray(values.mean(axis=tuple(range(values.ndim - 2))) if values.ndim > 2 else values)


def heat(title: str, values: NDArray[np.float32], rows: Sequence[str], columns: Sequence[str], **style: Any) -> Panel:
    """A matrix as a heat map with tokens on both axes; `style` goes to matplotlib."""

    def draw(axes: "Axes") -> None:
        image = axes.imshow(values, aspect="auto", interpolation="nearest", **{"cmap": "Blues", **style})
        axes.set(xticks=[], yticks=[])
        if any(columns) and len(columns) <= MOST_LABELS:
            axes.set_xticks(range(len(columns)), columns, rotation=90)
            axes.xaxis.tick_top()
        if any(rows) and len(rows) <= MOST_LABELS:
            axes.set_yticks(range(len(rows)), rows)
        axes.figure.colorbar(image, ax=axes, shrink=0.7, aspect=25)

    width, height = (CELL * min(len(names), MOST_LABELS) for names in (columns, rows))
    return Panel(title, max(2.4, width) + 0.9, max(1.2, height), draw)


def heat_of(lane: Lane, found: Map, title: str, **style: Any) -> Panel:
    """A map of the document as a heat map; of several heads the mean."""
    values = mean_matrix(found)
    rows, columns = (labels(lane, axis, size) for axis, size in zip(found.axes[-2:], values.shape, strict=True))
    return heat(title, values, rows, columns, **style)


def points(title: str, found: Sequence[Point], explained: Sequence[float], joined: bool) -> Panel:
    """Labelled points on two axes; states of one sentence are joined by a line."""

    def draw(axes: "Axes") -> None:
        places = np.array([[*place[:2], 0.0][:2] for *_, place in found], float)
        if joined:
            axes.plot(places[:, 0], places[:, 1], "-", color="#999999", lw=1)
        for number, label in enumerate(dict.fromkeys(label for _, label, _ in found)):
            chosen = places[[at for at, point in enumerate(found) if point[1] == label]]
            name = plain(label) if label else None
            axes.plot(chosen[:, 0], chosen[:, 1], "o", color=COLOURS[number % len(COLOURS)], label=name)
        names = [f"axis {at + 1}: {share:.0%} of the variance" for at, share in enumerate(explained[:2])]
        axes.set(xlabel=names[0] if names else "axis 1", ylabel=names[1] if len(names) > 1 else "axis 2")
        if any(label for _, label, _ in found):
            axes.legend(frameon=False)
        axes.margins(0.12)
        shown = write_texts(axes, [plain(text) for text, *_ in found], places)
        if shown < len(found):
            axes.set_title(f"{title}; {shown} with their text: the others have no room", fontsize=9)

    return Panel(title, *MAP, draw)


def write_texts(axes: "Axes", texts: Sequence[str], places: NDArray[np.float64]) -> int:
    """Write each text beside its point, on the first side where it covers nothing; return how many found room."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    spots = (places - [left, low]) / [right - left, high - low] * np.array(MAP) * POINTS_PER_INCH
    taken = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in spots.tolist()]
    shown = 0
    for text, place, (x, y) in zip(texts, places, spots.tolist(), strict=True):
        wide = LETTER * max(map(len, text.splitlines() or [""]))
        for align, shift, bottom in (
            ("left", DOT, 0.0),
            ("right", -DOT - wide, 0.0),
            ("left", DOT, -TALL),
            ("right", -DOT - wide, -TALL),
        ):
            box = (x + shift, y + bottom, x + shift + wide, y + bottom + TALL)
            if all(box[2] <= one[0] or one[2] <= box[0] or box[3] <= one[1] or one[3] <= box[1] for one in taken):
                offset = (DOT if align == "left" else -DOT, bottom + 2)
                axes.annotate(text, place, xytext=offset, textcoords="offset points", fontsize=8, ha=align)
                taken.append(box)
                shown += 1
                break
    return shown
