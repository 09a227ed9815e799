"""HTML and XML as a series of tags, comments and texts, whatever is missing in them."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

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
CODE = {"code", "kbd", "samp", "var"}  # elements that hold no language
LINED = {"pre", "textarea"}  # elements in which spaces and line ends are shown as written
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
BLOCK_NAMES = """
address article aside audio base blockquote body br canvas caption center col colgroup dd details dialog dir div dl dt
fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe legend li link
main math menu meta nav noframes object ol optgroup option p pre search section select source summary svg table tbody td
textarea tfoot th thead title tr track ul video
"""
BLOCKS = frozenset(BLOCK_NAMES.split())


@dataclass(frozen=True, slots=True)
class Piece:
    """A tag, a comment or a text between two of them."""

    raw: str
    kind: str  # text, open, close, point (a comment or an empty element), block
    tag: str = ""
    stays: bool = False  # inside an element that must not be translated, or its start tag


def pieces_of(text: str) -> Iterator[tuple[Piece, bool]]:
    """The pieces of HTML, in order, and whether their line ends are shown."""
    staying: list[str] = []  # open elements, from one that must not be translated on
    counts: dict[str, int] = {}  # of these, by tag: looking through the list takes long in a long file
    lined, start = False, 0
    for match in MARKUP.finditer(text):
        if match.start() > start:
            yield Piece(text[start : match.start()], "text", stays=bool(staying)), lined
        raw, start = match[0], match.end()
        tag, close = (match["tag"] or "").lower(), bool(match["close"])
        if not tag:
            kind = "point" if raw.startswith(("<!--", "<![", "<?")) else "block"
            yield Piece(raw, kind, stays=bool(staying)), lined
            continue
        empty = tag in VOID or raw.endswith("/>")
        kind = "block" if tag in BLOCKS else "point" if empty else "close" if close else "open"
        if not empty:
            if tag in LINED:
                lined = not close
            if not close and (staying or tag in CODE or STAYS.search(raw)):
                staying.append(tag)
                counts[tag] = counts.get(tag, 0) + 1
        yield Piece(raw, kind, tag, stays=bool(staying)), lined
        while close and counts.get(tag):
            last = staying.pop()
            counts[last] -= 1
            if last == tag:
                break
    if start < len(text):
        yield Piece(text[start:], "text", stays=bool(staying)), lined


def decode(raw: str) -> str:
    """A text with its entities as characters."""
    return html.unescape(NUMBERED.sub(r"&#\1", raw))


def escape(text: str) -> str:
    """A text that no browser takes for markup."""
    return html.escape(text, quote=False)
