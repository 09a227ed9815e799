"""Renders the blocks of a report as Markdown and as one self-contained HTML file."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
td:not(.text) { white-space: nowrap; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
tbody tr:hover { background: #f4f6fa; }
img { max-width: 100%; }
.wide { overflow-x: auto; }
"""


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Table:
    """A table; the columns in `texts` hold words and are aligned left, the others right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class Picture:
    file: str  # in the folder of the page
    says: str  # the text for readers who cannot see it


Block = Heading | Text | Table | Picture


def to_markdown(title: str, blocks: Sequence[Block]) -> str:
    return "\n\n".join([f"# {title}", *(markdown_of(block) for block in blocks)]) + "\n"


def markdown_of(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Text(text):
            return text
        case Picture(file, says):
            return f"![{says}]({file})"
        case Table(head, rows, texts):
            rule = ["---" if column in texts else "---:" for column in range(len(head))]
            return "\n".join("| " + " | ".join(map(in_cell, row)) + " |" for row in (head, rule, *rows))


def in_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def to_html(title: str, blocks: Sequence[Block], pictures: Mapping[str, bytes]) -> str:
    """The page as HTML; `pictures` are PNG files by name, which are embedded."""
    body = "\n".join(html_of(block, pictures) for block in blocks)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def html_of(block: Block, pictures: Mapping[str, bytes]) -> str:
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Picture(file, says):
            content = base64.b64encode(pictures[file]).decode()
            return f'<p><img alt="{escape(says)}" src="data:image/png;base64,{content}"></p>'
        case Table(head, rows, texts):
            top = row_of("th", head, texts)
            lines = "\n".join(row_of("td", row, texts) for row in rows)
            return f'<div class="wide"><table>\n<thead>{top}</thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>'


def row_of(tag: str, cells: Sequence[str], texts: frozenset[int]) -> str:
    kinds = [' class="text"' if column in texts else "" for column in range(len(cells))]
    inside = "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
    return f"<tr>{inside}</tr>"
