"""HTML as sentences with inline markup, and everything else, which stays as it is.

Elements that browsers show as blocks (p, li, br ...) separate sentences. Every other element is a part of its sentence:
its words are translated together with those around it, and `placing` puts its tags back. A tag whose partner is not in
the same sentence separates, too, so that the order of such tags never changes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from seqloom.runtime.sentences import split_sentences
from seqloom.serve.marks import Inline, Segment, around, split_text
from seqloom.serve.markup import Piece, decode, escape, pieces_of

SPACES = re.compile(r"\s+")
MOST_WORDS = 3  # of a name or a piece of code inside a sentence; a longer one separates sentences
MOST_TAGS = 64  # of a sentence; with more of them each text between tags is translated on its own
DEEPEST = 16  # elements inside each other


def split_html(text: str) -> list[Segment]:
    """Split HTML into sentences, with decoded entities, and markup that stays. An incomplete tag is text."""
    segments: list[Segment] = []
    pieces: list[Piece] = []
    for piece, lined in pieces_of(text):
        if piece.kind != "block" and not lined:
            pieces.append(piece)
            continue
        segments += Run(pieces).segments()
        pieces = []
        if piece.kind == "text" and not piece.stays:
            segments += split_text(decode(piece.raw), escape)
        else:
            segments.append(Segment(piece.raw, translate=False))
    return segments + Run(pieces).segments()


class Run:
    """Pieces between two blocks: texts, inline tags and points."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.partners = partners_of(pieces)
        self.fixed = dict(self.find_fixed())  # elements that stay inside a sentence: start -> end
        texts = (piece.kind == "text" and not decode(piece.raw).isspace() for piece in pieces)
        self.texts = [0, *accumulate(texts)]  # how many texts are before each piece

    def find_fixed(self) -> Iterator[tuple[int, int]]:
        end = -1
        for place, piece in enumerate(self.pieces):
            if place > end and piece.stays and piece.kind == "open" and place in self.partners:
                end = self.partners[place]
                if len(text_of(self.pieces[place:end]).split(maxsplit=MOST_WORDS)) <= MOST_WORDS:
                    yield place, end

    def segments(self) -> list[Segment]:
        """The sentences of the run, and what separates them."""
        segments, start = list[Segment](), 0
        for place in sorted(self.separators()):
            segments += self.sentence(start, place)
            segments.append(Segment(self.pieces[place].raw, translate=False))
            start = place + 1
        return segments + self.sentence(start, len(self.pieces))

    def separators(self) -> set[int]:
        """Tags without a partner, what stays and is too long for a sentence, and elements with one of these inside."""
        kept = {place for start, end in self.fixed.items() for place in range(start, end + 1)}
        found = {
            place
            for place, piece in enumerate(self.pieces)
            if (piece.stays and place not in kept) or (piece.kind in ("open", "close") and place not in self.partners)
        }
        before = [0, *accumulate(place in found for place in range(len(self.pieces)))]
        found.update(place for place, other in self.partners.items() if before[place] != before[other])
        edges = [-1, *sorted(found), len(self.pieces)]
        for start, end in pairwise(edges):
            tags = [place for place in range(start + 1, end) if self.pieces[place].kind != "text"]
            found.update(tags if len(tags) > MOST_TAGS else ())
        return found

    def sentence(self, start: int, end: int) -> list[Segment]:
        """The segments of pieces with nothing that separates; tags around all of the words stay outside."""
        before, after = list[Segment](), list[Segment]()
        while start < end:
            if skipped := self.skip(start, end):
                before += self.as_they_are(start, start + skipped)
                start += skipped
            elif skipped := self.skip_back(start, end):
                after = self.as_they_are(end - skipped, end) + after
                end -= skipped
            elif self.partners.get(start) == end - 1 and start not in self.fixed:
                before += self.as_they_are(start, start + 1)
                after = self.as_they_are(end - 1, end) + after
                start, end = start + 1, end - 1
            else:
                break
        return [*before, *self.words(start, end), *after]

    def skip(self, start: int, end: int) -> int:
        """How many pieces at the start have no text."""
        last = self.partners.get(start, start)
        return last + 1 - start if start <= last < end and self.texts[last + 1] == self.texts[start] else 0

    def skip_back(self, start: int, end: int) -> int:
        first = self.partners.get(end - 1, end - 1)
        return end - first if start <= first < end and self.texts[first] == self.texts[end] else 0

    def as_they_are(self, start: int, end: int) -> list[Segment]:
        pieces = self.pieces[start:end]
        texts = [
            escape(decode(piece.raw)) if piece.kind == "text" and not piece.stays else piece.raw for piece in pieces
        ]
        return [Segment(text, translate=False) for text in texts]

    def words(self, start: int, end: int) -> list[Segment]:
        if end - start == 1:
            text = decode(self.pieces[start].raw)
            return [
                Segment(SPACES.sub(" ", segment.text), translate=True) if segment.translate else segment
                for segment in around(text, escape)
            ]
        builder = Builder()
        place = start
        while place < end:
            place = self.add(builder, place)
        if not builder.translates:
            return self.as_they_are(start, end)
        return [
            *(Segment(blank, translate=False) for blank in (escape(builder.before),) if blank),
            *cut_at_ends("".join(builder.text), builder.root.inside),
            *(Segment(blank, translate=False) for blank in (escape(builder.after),) if blank),
        ]

    def add(self, builder: "Builder", place: int) -> int:
        """Give a piece, or a whole element that is a point or fixed, to the builder; the place of the next piece."""
        piece, partner = self.pieces[place], self.partners.get(place, place)
        inner = self.pieces[place + 1 : partner]
        if piece.kind == "text":
            builder.add_text(decode(piece.raw))
        elif piece.kind == "close":
            builder.end()
        elif place in self.fixed:
            builder.begin(Inline(0, 0, piece.raw, self.pieces[partner].raw, fixed="", raw=raw_of(inner)))
            builder.add_text(text_of(inner))
            builder.end()
            return partner + 1
        elif piece.kind == "point" or self.texts[place] == self.texts[partner] or is_note(piece, inner):
            builder.add_point(raw_of(self.pieces[place : partner + 1]))
            return partner + 1
        else:
            builder.begin(Inline(0, 0, piece.raw, self.pieces[partner].raw))
        return place + 1


def partners_of(pieces: Sequence[Piece]) -> dict[int, int]:
    """The place of the end tag of each start tag, and the other way round, where both are there and nested."""
    partners: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    counts: dict[str, int] = {}
    for place, piece in enumerate(pieces):
        if piece.kind == "open":
            opened.append((piece.tag, place))
            counts[piece.tag] = counts.get(piece.tag, 0) + 1
        elif piece.kind == "close" and counts.get(piece.tag):
            while True:
                tag, start = opened.pop()
                counts[tag] -= 1
                if tag == piece.tag:
                    break
            if len(opened) < DEEPEST:
                partners[start], partners[place] = place, start
    return partners


def raw_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.raw for piece in pieces)


def text_of(pieces: Sequence[Piece]) -> str:
    return decode("".join(piece.raw for piece in pieces if piece.kind == "text"))


def is_note(piece: Piece, inner: Sequence[Piece]) -> bool:
    """Whether an element is the mark of a footnote, which is not a part of the word before it."""
    return piece.tag == "sup" and not any(
        map(str.isalpha, decode(raw_of([each for each in inner if each.kind == "text"])))
    )


@dataclass(slots=True)
class Open:
    """An element whose end has not come yet."""

    mark: Inline
    waits: bool = True  # for its first word


class Builder:
    """The text of a sentence, with single blanks, and its marks."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.length = 0
        self.blank = False  # whether there is a blank before what comes next
        self.before, self.after = "", ""  # blanks around the sentence
        self.root = Inline(0, 0)
        self.open = [Open(self.root, waits=False)]
        self.points: list[Inline] = []  # after the last word
        self.translates = False  # whether there is a word that is not fixed

    def add_text(self, text: str) -> None:
        stripped = text.strip()
        lead = text[: len(text) - len(text.lstrip())]
        if not stripped:
            self.blank, self.after = True, self.after + text
            return
        if not self.length:
            self.before = self.after + lead
        elif lead or self.blank:
            self.write(" ")
        for point in self.points:
            point.glued = point.glued[0], not (lead or self.blank)
        self.points = []
        for one in self.open:
            if one.waits:
                one.mark.start, one.waits = self.length, False
        mark = self.open[-1].mark
        clean = SPACES.sub(" ", stripped)
        if mark.fixed is not None:
            mark.fixed += clean
        elif any(map(str.isalnum, clean)):
            self.translates = True
        self.write(clean)
        self.after = text[len(text.rstrip()) :]
        self.blank = bool(self.after)

    def write(self, text: str) -> None:
        self.text.append(text)
        self.length += len(text)

    def begin(self, mark: Inline) -> None:
        self.open[-1].mark.inside.append(mark)
        self.open.append(Open(mark))

    def end(self) -> None:
        self.open.pop().mark.end = self.length

    def add_point(self, raw: str) -> None:
        point = Inline(self.length, self.length, raw, glued=(bool(self.length) and not self.blank, False))
        self.open[-1].mark.inside.append(point)
        self.points.append(point)


def cut_at_ends(text: str, marks: Sequence[Inline]) -> Iterator[Segment]:
    """One segment per sentence, so that the model aligns it; none ends inside an element."""
    start, left = 0, [*marks]
    ends = [*accumulate(map(len, split_sentences(text)))]
    for end in ends:
        if end != ends[-1] and any(mark.start < end < mark.end for mark in left):
            continue
        own = [mark for mark in left if mark.start < end or end == ends[-1]]
        left = left[len(own) :]
        sentence = text[start:end]
        yield Segment(sentence.rstrip(), True, tuple(mark.moved(-start) for mark in own))
        if len(sentence) > len(sentence.rstrip()):
            yield Segment(" ", translate=False)
        start = end
