"""Attention heatmap for the terminal: source pieces across, target pieces down, darker = more attention.

Pieces can contain any character, so all are made safe for the terminal: control and format characters are replaced by
visible symbols, a lone combining mark is drawn on a circle, wide characters get two columns, and right-to-left letters
are enclosed in left-to-right marks so that the terminal does not reorder columns.
"""

import unicodedata
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.style import Style
from rich.text import Text

from seqloom.explain.alignment import check_alignment

SHADES = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"), (float("-inf"), "·"))
COLD, HOT = (38, 42, 56), (255, 190, 60)
TALLEST_LABEL, WIDEST_CELL = 10, 2
LEFT_TO_RIGHT_MARK = "\u200e"


def render_heatmap(document: dict[str, Any], width: int = 80, colour: bool = False, what: str = "attention") -> Text:
    """The whole heatmap, at most `width` columns wide; a longer source continues in another band below.

    `what` is the word of the legend for the numbers.
    """
    check_alignment(document)
    columns = [symbols(piece)[:TALLEST_LABEL] for piece in document["source"]]
    labels = ["".join(symbols(piece)) for piece in document["target"]]
    label_width = max(1, min(max(map(cell_len, labels), default=1), width // 4))
    room = max(WIDEST_CELL, width - label_width - 1)
    cell = cell_width(columns, room)
    map_ = Text(no_wrap=True)
    for start in range(0, len(columns), room // cell):
        band = slice(start, start + room // cell)
        for line in header(columns[band], cell):
            map_.append(" " * (label_width + 1) + line.rstrip() + "\n")
        for label, row in zip(labels, document["weights"], strict=True):
            map_.append(fenced(set_cell_size(label, label_width)) + " ")
            for weight in row[band]:
                map_.append_text(shade(weight, cell, colour))
            map_.append("\n")
        map_.append("\n")
    return map_.append_text(legend(colour, what))


def cell_width(columns: list[list[str]], room: int) -> int:
    """Terminal columns per piece: two, which look square, or one if letters are narrow and two do not fit."""
    wide = any(cell_len(symbol) > 1 for column in columns for symbol in column)
    return WIDEST_CELL if wide or len(columns) * WIDEST_CELL <= room else 1


def header(columns: list[list[str]], cell: int) -> Iterator[str]:
    """The source pieces written downwards, their last symbols on the line just above the heatmap."""
    height = max(map(len, columns))
    stacked = [[""] * (height - len(column)) + column for column in columns]
    for line in range(height):
        yield "".join(fenced(set_cell_size(column[line], cell)) for column in stacked)


def symbols(piece: str) -> list[str]:
    """The symbols to draw for a piece: one safe string per letter with its combining marks."""
    drawn: list[str] = []
    for character in piece:
        if unicodedata.category(character).startswith("M") or (character.isprintable() and cell_len(character) == 0):
            drawn.append((drawn.pop() if drawn else "◌") + character)
        else:
            drawn.append(picture(character))
    return drawn or ["∅"]


def picture(character: str) -> str:
    """The character itself if that is safe, otherwise a visible replacement."""
    code = ord(character)
    if unicodedata.category(character) == "Zs":
        return "␣"
    if code < 0x20 or code == 0x7F:
        return chr(0x2400 + code) if code < 0x20 else "␡"
    return character if character.isprintable() else "�"


def safe(text: str) -> str:
    """Text without anything that a terminal would obey."""
    return "".join(character if character == " " else picture(character) for character in text)


def token(piece: str) -> str:
    """A token, with its blanks visible."""
    return "".join(symbols(piece))


def fenced(text: str) -> str:
    """Enclose text with right-to-left letters in left-to-right marks; otherwise it would reorder the whole line."""
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text):
        return LEFT_TO_RIGHT_MARK + text + LEFT_TO_RIGHT_MARK
    return text


def shade(weight: float, cell: int, colour: bool) -> Text:
    """One cell of the heatmap."""
    if colour:
        share = min(max(weight, 0.0), 1.0)
        mixed = (round(cold + share * (hot - cold)) for cold, hot in zip(COLD, HOT, strict=True))
        return Text(" " * cell, Style(bgcolor=Color.from_rgb(*mixed)))
    character = next(character for least, character in SHADES if weight >= least)
    return Text(character.ljust(cell) if character == "·" else character * cell)


def legend(colour: bool, what: str) -> Text:
    """The legend: what the shades mean."""
    line = Text(f"{what}: ")
    for least, character in reversed(SHADES[:-1]):
        line.append_text(shade(least, WIDEST_CELL, True) if colour else Text(character * WIDEST_CELL))
        line.append(f" {least:g}+  ")
    line.rstrip()
    return line
