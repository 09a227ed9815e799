"""Bar and line charts as PNG bytes, drawn by matplotlib (the extra `plots`) without a window."""

import importlib.util
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that colour-blind people can tell apart (Okabe and Ito 2008); further lines differ by their dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A score with its interval; bars of the same group have the same colour."""

    name: str
    group: str
    score: float
    low: float
    high: float


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_bars(bars: Sequence[Bar], label: str, colours: Mapping[str, str] | None = None) -> bytes:
    """Horizontal bar chart, the first bar on top; `colours` are those of groups that have one of their own."""
    figure, axes = empty_chart(height=1.2 + 0.35 * len(bars))
    groups = list(dict.fromkeys(bar.group for bar in bars))
    chosen = choose_colours(groups, colours or {})
    for group in groups:
        rows = [row for row, bar in enumerate(bars) if bar.group == group]
        scores = [bars[row].score for row in rows]
        # A bootstrap interval need not contain its score, and matplotlib refuses a negative length.
        below = [max(0.0, bars[row].score - bars[row].low) for row in rows]
        above = [max(0.0, bars[row].high - bars[row].score) for row in rows]
        colour, name = chosen[group], plain(group)
        axes.barh(rows, scores, xerr=[below, above], color=colour, ecolor="#444444", capsize=3, label=name)
    axes.set_yticks(range(len(bars)), [plain(bar.name) for bar in bars])
    axes.invert_yaxis()
    if not any(bar.high or bar.low for bar in bars):
        axes.set_xlim(0, 1)  # else matplotlib shows negative scores
    axes.set_xlabel(label)
    return finish(figure, with_legend=len(groups) > 1)


def draw_lines(
    lines: Mapping[str, Points],
    x_label: str,
    y_label: str,
    ticks: Sequence[str] = (),
    groups: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
) -> bytes:
    """Line chart with one line per name; `ticks` are the labels of x = 0, 1, 2 ... if x is not a number.

    groups: the group of each line; lines of one group have one colour and differ by dashes and markers.
    """
    figure, axes = empty_chart(height=4.5)
    members: dict[str, list[str]] = {}
    for name in lines:
        members.setdefault((groups or {}).get(name, name), []).append(name)
    chosen = choose_colours(list(members), colours or {})
    overflow = [group for group in members if group not in (colours or {})]
    for group, names in members.items():
        turn = overflow.index(group) // len(COLOURS) if group in overflow else 0
        for number, name in enumerate(names, turn):
            draw_line(axes, name, lines[name], chosen[group], number)
    if ticks:
        axes.set_xticks(range(len(ticks)), ticks)
    if axes.texts:
        axes.margins(x=0.3, y=0.15)  # room for the labels of single points
    if not any(y for points in lines.values() for _, y in points):
        axes.set_ylim(0, 1)  # else matplotlib shows negative scores
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return finish(figure, with_legend=True)


def draw_line(axes: "Axes", name: str, points: Points, colour: str, number: int) -> None:
    """Draw the line with this number in its group; a single point is drawn large and with its value."""
    xs, ys = zip(*points, strict=True) if points else ((), ())
    dash, marker = DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)]
    size = 10.0 if len(points) == 1 else 3.5
    axes.plot(xs, ys, dash, color=colour, marker=marker, ms=size, label=plain(name))
    if len(points) == 1:
        above = 11 * sum(text.xy == points[0] for text in axes.texts if hasattr(text, "xy"))  # labels of the same point
        note, place = plain(f"{name}: {ys[0]:.3g}"), (9, 4 + above)
        axes.annotate(note, points[0], xytext=place, textcoords="offset points", color=colour, fontsize="small")


def choose_colours(groups: Sequence[str], fixed: Mapping[str, str]) -> dict[str, str]:
    """A colour per group: its fixed one, else the next that no fixed group has, in order of appearance."""
    free = [colour for colour in COLOURS if colour not in fixed.values()] or COLOURS
    others = [group for group in groups if group not in fixed]
    return {group: fixed.get(group) or free[others.index(group) % len(free)] for group in groups}


def plain(text: str) -> str:
    """Escape text for matplotlib: $ would begin a formula, and a name with a leading _ is left out of the legend."""
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def empty_chart(height: float) -> "tuple[Figure, Axes]":
    """A figure with empty axes."""
    from matplotlib.figure import Figure  # without pyplot: no window, no global state

    figure = Figure(figsize=(9, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes


def finish(figure: "Figure", with_legend: bool) -> bytes:
    """Render the figure as PNG; the same numbers give the same bytes."""
    if with_legend:
        figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that the font lacks: they are drawn as boxes
        figure.savefig(file, format="png", dpi=130, metadata={"Software": None})
    return file.getvalue()
