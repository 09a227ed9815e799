"""Read CSV: cells between commas or another separator; a quoted cell may hold it, doubled quotes and line ends.

The line number of a record is that of its first line. A quote that is never closed must not swallow the rest of the
file: then the line that opened it is a fault, and reading continues with the next line. Each line is looked at once to
see where its quotes end (`Lookahead`), so the time grows with the length of the file and no faster.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from seqloom.data.lines import Fault

MAX_RECORD_LINES = 1000  # a quote that stays open for longer counts as never closed
MAX_RECORD_CHARS = 1 << 22
INSIDE = re.compile('[^"]*(?:""[^"]*)*')  # a quoted cell up to its end: doubled quotes are part of it
OPEN, CLOSED, BROKEN = "open", "closed", "broken"
csv.field_size_limit(2**31 - 1)  # Python's own limit, 128 KB, would stop at a long line

Numbered = tuple[int, str | Fault]


def csv_rows(
    lines: Iterable[str | Fault], delimiter: str = ",", first_line: int = 1, spaced: bool = False
) -> Iterator[tuple[int, list[str] | Fault]]:
    """Yield the line and the cells of each record; a separator of several characters knows no quotes.

    spaced: a blank after a separator is not part of the cell.
    """
    reading = Lookahead(enumerate(lines, first_line), delimiter, spaced)
    while following := reading.take():
        line, text = following
        if isinstance(text, Fault):
            yield line, text
        elif '"' in text and len(delimiter) == 1:
            yield line, reading.quoted_record(line, text)
        else:
            cells = text.split(delimiter)
            yield line, [cell.lstrip(" ") for cell in cells] if spaced else cells


class Lookahead:
    """Lines that are read, and those that were looked at because a quote before them is open.

    Whether a line closes a quote that is open before it does not depend on where that quote was opened. So each line is
    looked at once, however many lines before it open a quote that nothing closes.
    """

    def __init__(self, numbered: Iterator[Numbered], delimiter: str, spaced: bool) -> None:
        self.numbered, self.delimiter, self.spaced = numbered, delimiter, spaced
        self.ahead: deque[Numbered] = deque()
        self.chars = 0  # of the lines ahead
        self.open_until = 0  # the last line up to which an open quote is known to stay open
        self.stop = (0, OPEN)  # the line after that, once it was looked at, and what it does to the quote

    def take(self) -> Numbered | None:
        """Return the next line."""
        if not self.ahead:
            return next(self.numbered, None)
        following = self.ahead.popleft()
        self.chars -= length_of(following)
        return following

    def quoted_record(self, line: int, text: str) -> list[str] | Fault:
        """Return the cells of the record that begins with this line; it takes more lines as needed."""
        more, fault = 0, "a quote is opened and not closed"
        if quotes_after(text, self.delimiter, self.spaced, within=False) == OPEN:
            more = self.lines_to_end(line)
        if more >= 0:
            try:
                one = ["\n".join([text, *(str(part) for _, part in islice(self.ahead, more))])]
                cells = next(csv.reader(one, strict=True, delimiter=self.delimiter, skipinitialspace=self.spaced))
            except csv.Error as error:
                fault = str(error)
            else:
                for _ in range(more):
                    self.take()
                return cells
        return Fault("bad quotes", line, fault)

    def lines_to_end(self, line: int) -> int:
        """Return how many lines after this one its open quote needs; -1 if it is never closed."""
        place = max(0, self.open_until - line)
        while place < MAX_RECORD_LINES:
            if place == len(self.ahead):
                following = None if self.chars > MAX_RECORD_CHARS else next(self.numbered, None)
                if following is None:
                    return -1
                self.ahead.append(following)
                self.chars += length_of(following)
            number, text = self.ahead[place]
            if self.stop[0] != number:
                self.stop = number, self.after(text)
            if self.stop[1] != OPEN:
                return place + 1 if self.stop[1] == CLOSED else -1
            self.open_until, place = number, place + 1
        return -1

    def after(self, text: str | Fault) -> str:
        """Return what a line does to a quote that is open before it."""
        return BROKEN if isinstance(text, Fault) else quotes_after(text, self.delimiter, self.spaced, within=True)


def length_of(numbered: Numbered) -> int:
    return len(numbered[1]) if isinstance(numbered[1], str) else 0


def quotes_after(text: str, delimiter: str, spaced: bool, within: bool) -> str:
    """Return whether a quoted cell is still open at the end of a line, or is broken: text follows its last quote.

    within: the line begins inside a quoted cell.
    """
    place = 0
    while True:
        if within:
            place = INSIDE.match(text, place).end() + 1  # type: ignore[union-attr]  # it matches everywhere
            if place >= len(text):
                return OPEN if place > len(text) else CLOSED
            if text[place] != delimiter:
                return BROKEN
        else:
            while spaced and text[place : place + 1] == " ":
                place += 1
            if within := text[place : place + 1] == '"':
                place += 1
                continue
            place = text.find(delimiter, place)
            if place < 0:
                return CLOSED
        place, within = place + 1, False
