"""Read CSV: cells between commas or another separator; a quoted cell may hold it, doubled quotes and line ends.

The line number of a record is that of its first line. A quote that is never closed must not swallow the rest of the
file: then the line that opened it is a fault, and reading continues with the next line.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator

from seqloom.data.lines import Fault

MAX_RECORD_LINES = 1000  # a quote that stays open for longer counts as never closed
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
    taken: list[Numbered] = []
    while True:
        try:
            return next(csv.reader([text], strict=True, delimiter=delimiter, skipinitialspace=spaced))
        except csv.Error as error:
            fault = Fault("bad quotes", line, str(error))
        if text.count('"') % 2 == 0:
            break
        added = lines_to_quote(ahead, numbered, MAX_RECORD_LINES - len(taken))
        taken += added
        if not (added and isinstance(last := added[-1][1], str) and '"' in last):
            fault = Fault("bad quotes", line, "a quote is opened and not closed")
            break
        text = "\n".join([text, *(str(more) for _, more in added)])
    ahead.extendleft(reversed(taken))
    return fault


def lines_to_quote(ahead: deque[Numbered], numbered: Iterator[Numbered], most: int) -> list[Numbered]:
    """Return the next lines up to the first that holds a quote; at most `most` lines when none does."""
    added: list[Numbered] = []
    while len(added) < most and (following := ahead.popleft() if ahead else next(numbered, None)):
        added.append(following)
        if isinstance(following[1], Fault) or '"' in following[1]:
            break
    return added
