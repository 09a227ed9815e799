"""Charts as PNG files, by matplotlib (the extra `plots`): numbers in, bytes out; nothing is shown, nothing is kept."""

import importlib.util
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that the colour-blind tell apart (Okabe and Ito 2008); beyond them the dashes change.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":")
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A score with its interval; bars of one group have one colour."""

    name: str
    group: str
    score: float
    low: float
    high: float


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw_bars(bars: Sequence[Bar], label: str) -> bytes:
    """One bar under the other, the first on top."""
    figure, axes = empty_chart(height=1.2 + 0.35 * len(bars))
    groups = list(dict.fromkeys(bar.group for bar in bars))
    for group in groups:
        places = [place for place, bar in enumerate(bars) if bar.group == group]
        scores = [bars[place].score for place in places]
        # An interval by resampling need not hold its score, and matplotlib refuses a negative length.
        below = [max(0.0, bars[place].score - bars[place].low) for place in places]
        above = [max(0.0, bars[place].high - bars[place].score) for place in places]
        colour = COLOURS[groups.index(group) % len(COLOURS)]
        axes.barh(places, scores, xerr=[below, above], color=colour, ecolor="#444444", capsize=3, label=plain(group))
    axes.set_yticks(range(len(bars)), [plain(bar.name) for bar in bars])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    return finish(figure, with_legend=len(groups) > 1)


def draw_lines(lines: Mapping[str, Points], x_label: str, y_label: str, ticks: Sequence[str] = ()) -> bytes:
    """A line a name; `ticks` name the places 0, 1, 2 ... where x is no number."""
    figure, axes = empty_chart(height=4.5)
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = DASHES[number // len(COLOURS) % len(DASHES)]
        xs, ys = zip(*points, strict=True) if points else ((), ())
        axes.plot(xs, ys, dash, color=colour, marker="o", ms=3, label=plain(name))
    if ticks:
        axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return finish(figure, with_legend=True)


def plain(text: str) -> str:
    """For matplotlib, to which $ begins a formula, and _ a name that is not shown in a legend."""
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def empty_chart(height: float) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure  # without pyplot: no window, no global state

    figure = Figure(figsize=(9, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes


def finish(figure: "Figure", with_legend: bool) -> bytes:
    """The PNG; the same numbers give the same bytes."""
    if with_legend:
        figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box, and that is all
        figure.savefig(file, format="png", dpi=130, metadata={"Software": None})
    return file.getvalue()
