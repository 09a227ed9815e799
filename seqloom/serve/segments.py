"""A text as what is translated and what stays: lines of a text, text nodes of HTML; blanks and tags stay as they are.

join(split(text), translations) puts it together again; with the texts themselves it gives what was asked.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

LINES = re.compile(r"([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")
SPACES = re.compile(r"\s+")
# Python reads no number of thousands of digits; the first eight say already that there is no such character.
NUMBERED = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
# Own patterns, because html.parser loses what is not closed and takes seconds for 5,000 characters of `<a <a <a `.
MARKUP = re.compile(
    r"<(?P<raw>script|style|template|noscript)\b[^<>]*+>.*?(?:</(?P=raw)\s*+>|\Z)"
    r"|<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?][^<>]*+>"
    r"|<(?P<close>/?)(?P<tag>[a-z][^\s<>/]*+)(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL | re.IGNORECASE,
)
# Markup by which authors say that a name or a piece of code must not be translated.
STAYS = re.compile(r"""\stranslate\s*=\s*["']?no\b|\sclass\s*=\s*["'][^"']*\bnotranslate\b""", re.IGNORECASE)
LINED = {"pre", "textarea"}  # elements in which spaces and line ends are shown as written
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass(frozen=True, slots=True)
class Segment:
    text: str
    translate: bool


def split(text: str, format: str) -> list[Segment]:
    return split_html(text) if format == "html" else split_text(text)


def join(segments: Sequence[Segment], translated: Iterator[str], format: str) -> str:
    """Join the segments; the next translation replaces each segment that is to be translated."""
    escape: Callable[[str], str] = escape_text if format == "html" else str
    return "".join(escape(next(translated)) if segment.translate else segment.text for segment in segments)


def split_text(text: str, keep: Callable[[str], str] = str) -> list[Segment]:
    """One segment per line."""
    return [segment for line in LINES.split(text) for segment in around(line, keep)]


def around(text: str, keep: Callable[[str], str]) -> Iterator[Segment]:
    """A text without the blanks around it, and these. Whether there is a word in it, the translator asks."""
    if not text.strip():
        if text:
            yield Segment(keep(text), translate=False)
        return
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    for part, translate in ((before, False), (text.strip(), True), (after, False)):
        if part:
            yield Segment(part if translate else keep(part), translate)


def escape_text(text: str) -> str:
    return html.escape(text, quote=False)


def split_html(text: str) -> list[Segment]:
    """Split HTML into markup, unchanged, and text nodes with decoded entities. An incomplete tag is text."""
    segments: list[Segment] = []
    staying: list[str] = []  # open elements, from one that must not be translated on
    lined = False
    start = 0
    for match in MARKUP.finditer(text):
        segments += text_node(text[start : match.start()], bool(staying), lined)
        segments.append(Segment(match[0], translate=False))
        start = match.end()
        tag = (match["tag"] or "").lower()
        if not tag or tag in VOID or match[0].endswith("/>"):
            continue
        if tag in LINED:
            lined = not match["close"]
        if not match["close"]:
            staying += [tag] if staying or STAYS.search(match[0]) else []
        elif tag in staying:
            while staying.pop() != tag:
                pass
    return segments + text_node(text[start:], bool(staying), lined)


def text_node(raw: str, stays: bool, lined: bool) -> list[Segment]:
    if stays:
        return [Segment(raw, translate=False)] if raw else []
    text = html.unescape(NUMBERED.sub(r"&#\1", raw))
    if lined:
        return split_text(text, escape_text)
    return [
        Segment(SPACES.sub(" ", segment.text), translate=True) if segment.translate else segment
        for segment in around(text, escape_text)
    ]
