"""Draws a map of words: labelled points in coloured groups, as a PNG or as one self-contained HTML page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from seqloom.explain.charts import COLOURS, empty_chart, finish, plain

WIDTH, HEIGHT, MARGIN = 1000, 720, 40  # of the drawing in the page
LETTER, BOLD, LINE = 7.2, 9.0, 14.0  # width of a letter, also of a group's name, and height of a line there


@dataclass(frozen=True)
class WordMap:
    """The content of a map of words."""

    title: str
    words: Sequence[str]
    places: Sequence[tuple[float, float]]  # the point of each word
    groups: Sequence[int]  # the group of each word
    names: Sequence[str]  # the name of each group: one of its words
    says: Sequence[str]  # the text shown when the pointer is on a word
    axes: tuple[str, str]


def colour_of(group: int) -> str:
    return COLOURS[group % len(COLOURS)]


def on_paper(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points in the coordinates of the drawing, where y grows downwards."""
    low_x, low_y = (min(place[axis] for place in places) for axis in (0, 1))
    span_x, span_y = (max(place[axis] for place in places) - low for axis, low in ((0, low_x), (1, low_y)))
    room_x, room_y = WIDTH - 2 * MARGIN - 80, HEIGHT - 2 * MARGIN  # labels are to the right of their points
    return [
        (MARGIN + room_x * (x - low_x) / (span_x or 1), HEIGHT - MARGIN - room_y * (y - low_y) / (span_y or 1))
        for x, y in places
    ]


def labelled(drawing: WordMap) -> list[bool]:
    """Which words get a label: the names of groups, then others in order if there is room."""
    places = on_paper(drawing.places)
    is_name = [drawing.names[group] == word for word, group in zip(drawing.words, drawing.groups, strict=True)]
    boxes: list[tuple[float, float, float]] = []  # left, right, middle
    shown = [False] * len(places)
    for i in sorted(range(len(places)), key=lambda i: not is_name[i]):
        x, y = places[i]
        length = (BOLD if is_name[i] else LETTER) * len(drawing.words[i]) + 12
        left, right = (x - length, x) if on_the_left(drawing, i, x) else (x, x + length)
        if is_name[i] or not any(left < r and right > x0 and abs(y - y0) < LINE for x0, r, y0 in boxes):
            boxes.append((left, right, y))
            shown[i] = True
    return shown


def on_the_left(drawing: WordMap, i: int, x: float) -> bool:
    """Whether a label is to the left of its point: it would leave the paper on the right, and there is more room."""
    width = (BOLD if drawing.names[drawing.groups[i]] == drawing.words[i] else LETTER) * len(drawing.words[i])
    return x + 6 + width > WIDTH and x > WIDTH / 2


def draw_png(drawing: WordMap) -> bytes:
    """The map as a PNG."""
    figure, axes = empty_chart(height=6.5)
    shown = labelled(drawing)
    for group, name in enumerate(drawing.names):
        members = [i for i, other in enumerate(drawing.groups) if other == group]
        xs, ys = ([drawing.places[i][axis] for i in members] for axis in (0, 1))
        axes.scatter(xs, ys, s=14, color=colour_of(group), label=plain(name))
    for i, (x, y) in enumerate(drawing.places):
        if shown[i]:
            bold = drawing.words[i] == drawing.names[drawing.groups[i]]
            axes.annotate(
                plain(drawing.words[i]), (x, y), xytext=(3, 2), textcoords="offset points", fontsize=9 if bold else 7,
                fontweight="bold" if bold else "normal", color=colour_of(drawing.groups[i]),
            )  # fmt: skip
    axes.set_xlabel(drawing.axes[0])
    axes.set_ylabel(drawing.axes[1])
    axes.set_title(plain(drawing.title))
    return finish(figure, with_legend=True)


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem; color: #222; }
svg { width: 100%; max-width: 1200px; border: 1px solid #ddd; }
text { font: 12px system-ui, sans-serif; }
text.name { font-weight: bold; font-size: 15px; }
g.word text.hidden { visibility: hidden; }
g.word:hover text.hidden, g.word:focus text.hidden { visibility: visible; }
svg.chosen g.word { opacity: 0.15; }
svg.chosen g.word.in { opacity: 1; }
#says { min-height: 3em; }
"""

# The text of a word is set by textContent, so that no word of the file is interpreted as HTML.
SCRIPT = """
const svg = document.querySelector("svg"), says = document.getElementById("says"), hint = says.textContent;
const words = [...document.querySelectorAll("g.word")];
const said = JSON.parse(document.getElementById("data").textContent);
const point = (one) => {
  svg.classList.toggle("chosen", Boolean(one));
  for (const other of words) other.classList.toggle("in", Boolean(one) && other.dataset.group === one.dataset.group);
  says.textContent = one ? said[words.indexOf(one)] : hint;
};
for (const word of words) {
  word.addEventListener("pointerenter", () => point(word));
  word.addEventListener("focus", () => point(word));
  word.addEventListener("pointerleave", () => point(null));
  word.addEventListener("blur", () => point(null));
}
"""


def draw_html(drawing: WordMap) -> str:
    """The map as an HTML page, which loads nothing and cannot send anything."""
    shown, places = labelled(drawing), on_paper(drawing.places)
    marks = "\n".join(mark(drawing, i, place, shown[i]) for i, place in enumerate(places))
    data = json.dumps(list(drawing.says), ensure_ascii=False).replace("<", "\\u003c")  # no </script> inside
    title = escape(drawing.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">\n{marks}\n</svg>\n'
        f'<p>{escape(drawing.axes[0])}; {escape(drawing.axes[1])}</p>\n<p id="says">Point at a word.</p>\n'
        f'<script type="application/json" id="data">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n'
    )


def mark(drawing: WordMap, i: int, place: tuple[float, float], shown: bool) -> str:
    """One word as SVG: its point and its label."""
    word, group = drawing.words[i], drawing.groups[i]
    kind = "name" if drawing.names[group] == word else "" if shown else "hidden"
    x, y = place
    at, anchor = (x - 6, "end") if on_the_left(drawing, i, x) else (x + 6, "start")
    return (
        f'<g class="word" data-group="{group}" tabindex="0" fill="{colour_of(group)}">'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<text x="{at:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" class="{kind}">{escape(word)}</text></g>'
    )
