"""Read CSV: cells between commas or another separator; a quoted cell may hold it, doubled quotes and line ends.

The line number of a record is that of its first line. A quote that is never closed must not swallow the rest of the
file: then the line that opened it is a fault, and reading continues with the next line. Each line is looked at once to
see where its quotes end, so the time grows with the length of the file and no faster.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator

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
    ahead: deque[Numbered] = deque()  # lines that were read for a record and handed back
    numbered = enumerate(lines, first_line)
    while following := ahead.popleft() if ahead else next(numbered, None):
        line, text = following
        if isinstance(text, Fault):
            yield line, text
        elif '"' in text and len(delimiter) == 1:
            yield line, quoted_record(line, text, ahead, numbered, delimiter, spaced)
        else:
            cells = text.split(delimiter)
            yield line, [cell.lstrip(" ") for cell in cells] if spaced else cells


def quoted_record(
    line: int, text: str, ahead: deque[Numbered], numbered: Iterator[Numbered], delimiter: str, spaced: bool
) -> list[str] | Fault:
    """Return the cells of the record that begins here; it takes more lines as needed and hands them back on failure."""
    parts, taken = [text], list[Numbered]()
    chars, state = len(text), quotes_after(text, delimiter, spaced, within=False)
    while state == OPEN:
        full = len(taken) >= MAX_RECORD_LINES or chars > MAX_RECORD_CHARS
        following = None if full else ahead.popleft() if ahead else next(numbered, None)
        if following is None:
            break
        taken.append(following)
        if isinstance(following[1], Fault):
            break
        parts.append(following[1])
        chars += len(following[1])
        state = quotes_after(following[1], delimiter, spaced, within=True)
    fault = "a quote is opened and not closed"
    if state != OPEN:
        try:
            one = ["\n".join(parts)]
            return next(csv.reader(one, strict=True, delimiter=delimiter, skipinitialspace=spaced))
        except csv.Error as error:
            fault = str(error)
    ahead.extendleft(reversed(taken))
    return Fault("bad quotes", line, fault)


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
