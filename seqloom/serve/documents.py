"""Files with texts to translate: .txt, .html, .srt, .po and .json. Their texts are translated, all other bytes stay.

.txt    every line
.html   every sentence, with its inline tags
.srt    the lines of subtitles; numbers and times stay
.po     the msgstr of every message that has none yet; names in braces and %s stay
.json   every string that is not a key; names in braces and %s stay
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from seqloom.errors import DataError
from seqloom.files.reading import parse_json
from seqloom.serve.finding import Found, Wanted
from seqloom.serve.inline import split_html
from seqloom.serve.marks import Inline, Keep, Segment, split_text
from seqloom.serve.markup import escape
from seqloom.serve.placing import place

HELD = re.compile(
    r"\{\{?[^{}\s]*+\}?\}|%(?:\([^()\s]*+\))?[#0 +-]*+\d*+(?:\.\d++)?[sdifgxr]|\$\{?\w++\}?|<[^<>]++>|https?://\S++"
)
STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
KEY_ENDS = re.compile(r"\s*:")
CUE = re.compile(r"\d+\s*|.*-->.*")
MESSAGE = re.compile(
    r"(?P<field>msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d+\])\s+(?P<text>\".*\")\s*|(?P<more>\".*\")\s*"
)
MOST_HELD = 64  # placeholders of a line; one with more of them is no language and stays
QUOTES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file, and how its translation is written there."""

    segment: Segment
    write: Keep = str


def translate_document(
    text: str, ending: str, find: Callable[[Sequence[str], Wanted], list[Found]], wanted: Wanted
) -> str:
    """The same file with other texts."""
    pieces = [*read_document(text, ending)]
    asked = to_translate(pieces)
    found: dict[int, Found] = {}
    for marked in (False, True):
        own = [number for number, segment in enumerate(asked) if bool(segment.marks) == marked]
        how = Wanted(wanted.search, alignment=marked)
        if own:
            found |= zip(own, find([asked[number].text for number in own], how), strict=True)
    return write_document(pieces, [found[number] for number in range(len(asked))])


def read_document(text: str, ending: str) -> Iterator[Piece]:
    """The parts of a file, in order; DataError if it is not what its ending says."""
    body = text.removeprefix("\ufeff")
    if len(body) < len(text):
        yield Piece(Segment("\ufeff", translate=False))
    yield from READERS[ending](body)


def to_translate(pieces: Iterable[Piece]) -> list[Segment]:
    return [piece.segment for piece in pieces if piece.segment.translate]


def write_document(pieces: Iterable[Piece], found: Iterable[Found]) -> str:
    """The file with these answers for the parts that are translated."""
    answers = iter(found)
    return "".join(
        in_place(piece, next(answers)) if piece.segment.translate else piece.segment.text for piece in pieces
    )


def in_place(piece: Piece, found: Found) -> str:
    text = found.hypotheses[0].text
    if not piece.segment.marks:
        return piece.write(text)
    alignment = found.alignments.get(text)
    if piece.write is not escape and all(
        mark.fixed for mark in piece.segment.marks
    ):  # names in braces: plain text until the whole is written
        return piece.write(place(piece.segment.marks, piece.segment.text, text, alignment, str))
    return place(piece.segment.marks, piece.segment.text, text, alignment, piece.write)


def plain(text: str) -> Iterator[Piece]:
    for line in text.splitlines(keepends=True):
        yield from (Piece(segment) for segment in split_text(line))


def html(text: str) -> Iterator[Piece]:
    yield from (Piece(segment, escape) for segment in split_html(text))


def subtitles(text: str) -> Iterator[Piece]:
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if CUE.fullmatch(bare):
            yield Piece(Segment(line, translate=False))
        else:
            yield from (Piece(segment) for segment in split_html(bare))
            yield Piece(Segment(line[len(bare) :], translate=False))


def messages(text: str) -> Iterator[Piece]:
    """A message has msgid and perhaps msgid_plural; the msgstr that are empty get their translation."""
    fields: dict[str, list[str]] = {}  # each with the texts of its lines
    lines = text.splitlines(keepends=True)
    last = ""
    for number, line in enumerate(lines):
        match = MESSAGE.fullmatch(line.strip())
        if match is None:
            fields, last = ({}, "") if not line.strip() else (fields, last)
        elif match["field"]:
            last = match["field"]
            fields[last] = [unquoted(match["text"])]
        elif last:
            fields[last].append(unquoted(match["more"]))
        continues = number + 1 < len(lines) and lines[number + 1].lstrip().startswith('"')
        ends = match is not None and last.startswith("msgstr") and not continues
        if ends and not any(fields[last]) and (source := source_of(fields, last)):
            before, _, after = line.rpartition('""')
            yield Piece(Segment(f'{before}"', translate=False))
            yield from (Piece(segment, quoted) for segment in with_held(source, quoted))
            yield Piece(Segment(f'"{after}', translate=False))
        else:
            yield Piece(Segment(line, translate=False))


def source_of(fields: Mapping[str, Sequence[str]], name: str) -> str:
    """The text whose translation belongs into this field."""
    return "".join(fields.get("msgid" if name in ("msgstr", "msgstr[0]") else "msgid_plural", ()))


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), text[1:-1])


def quoted(text: str) -> str:
    return "".join(QUOTES.get(letter, letter) for letter in text)


def strings(text: str) -> Iterator[Piece]:
    try:
        parse_json(text)
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}") from None
    start = 0
    for match in STRING.finditer(text):
        if KEY_ENDS.match(text, match.end()):
            continue
        yield Piece(Segment(text[start : match.start()], translate=False))

        def write(said: str, ascii: bool = match[0].isascii() and "\\u" in match[0]) -> str:
            return json.dumps(said, ensure_ascii=ascii)[1:-1]

        yield Piece(Segment('"', translate=False))
        yield from (Piece(segment, write) for segment in with_held(parse_json(match[0]), write))
        yield Piece(Segment('"', translate=False))
        start = match.end()
    yield Piece(Segment(text[start:], translate=False))


def with_held(text: str, keep: Keep) -> Iterator[Segment]:
    """The lines of a text; placeholders, tags and addresses in them are marks that the translation must have."""
    for segment in split_text(text, keep):
        held = [Inline(m.start(), m.end(), fixed=m[0], raw=m[0]) for m in HELD.finditer(segment.text)]
        if not segment.translate or not held:
            yield segment
        elif len(held) <= MOST_HELD and any(map(str.isalnum, HELD.sub("", segment.text))):
            yield Segment(segment.text, True, tuple(held))
        else:
            yield Segment(keep(segment.text), translate=False)


READERS: dict[str, Callable[[str], Iterator[Piece]]] = {
    ".txt": plain, ".html": html, ".htm": html, ".srt": subtitles, ".po": messages, ".json": strings,
}  # fmt: skip
