"""The explain document as PNG or SVG, drawn by matplotlib (the extra `plots`): one view per picture.

A picture has one row per model, and in each row the panels of its view (`view_panels`), side by side.
"""

import io
import warnings
from collections.abc import Sequence

from seqloom.errors import UsageError, did_you_mean
from seqloom.explain.charts import can_draw, plain
from seqloom.explain.document import VIEWS, Explained
from seqloom.explain.panels import Panel
from seqloom.explain.view_panels import panels_of

SUFFIXES = ("png", "svg")
EDGE = 0.7  # inches around a panel: labels and title


def picture(document: Explained, view: str, suffix: str = "png") -> bytes:
    """One view of the document as the bytes of a PNG or SVG file; the same document gives the same bytes."""
    suffix = suffix.lower().removeprefix(".")
    if suffix not in SUFFIXES:
        raise UsageError(f"a picture is {' or '.join(SUFFIXES)}, got {suffix!r}.{did_you_mean(suffix, SUFFIXES)}")
    if view not in VIEWS:
        raise UsageError(f"there is no view {view!r}.{did_you_mean(view, VIEWS)} Views: {', '.join(VIEWS)}")
    need_matplotlib(suffix)
    rows = panels_of(document, view) if view in document.views() else []
    if not rows:
        shown = ", ".join(document.views()) or "none"
        raise UsageError(f"this document has nothing to show for the view {view!r}; it has: {shown}")
    with warnings.catch_warnings():
        # about letters that the font lacks, drawn as boxes, and about charts without a number
        warnings.simplefilter("ignore")
        return draw(rows, suffix)


def need_matplotlib(suffix: str) -> None:
    """Raise UsageError, which says what to install, if matplotlib is missing."""
    if not can_draw():
        name = suffix.upper().removeprefix(".")
        raise UsageError(f"a {name} needs matplotlib: pip install 'seqloom[plots]', or write .html instead")


def draw(rows: Sequence[tuple[str, Sequence[Panel]]], suffix: str) -> bytes:
    """Rows of panels, each row with its title, as a file."""
    import matplotlib
    from matplotlib.figure import Figure  # without pyplot: no window, no global state

    wide = max(sum(panel.width + EDGE for panel in panels) for _, panels in rows)
    heights = [max(panel.height for panel in panels) + EDGE + 0.3 for _, panels in rows]
    # Text stays text in an SVG: a browser has the letters of more languages than matplotlib's font.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "seqloom", "font.size": 9}):
        figure = Figure(figsize=(max(4.0, wide), sum(heights)), layout="constrained")
        parts = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)
        for (title, panels), (part,) in zip(rows, parts, strict=True):
            part.suptitle(plain(title), x=0.01, ha="left", fontweight="bold")
            widths = [panel.width for panel in panels]
            slack = max(0.01, wide - sum(widths) - EDGE * len(widths))  # a short row does not stretch its panels
            *places, rest = part.subplots(1, len(panels) + 1, squeeze=False, width_ratios=[*widths, slack])[0]
            rest.set_axis_off()
            for panel, axes in zip(panels, places, strict=True):
                axes.set_title(plain(panel.title), fontsize=9)
                panel.draw(axes)
        file = io.BytesIO()
        metadata = {"Software": None} if suffix == "png" else {"Date": None, "Creator": None}
        figure.savefig(file, format=suffix, dpi=130, metadata=metadata)
    return file.getvalue()
