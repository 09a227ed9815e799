"""CSV: commas, and quotes that may hold commas, doubled quotes and line ends. A record's line is its first.

A quote that is never closed must not swallow the rest of the file: then the line that opened it is the fault, alone,
and reading goes on with the next line.
"""

import csv
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from seqloom.data.lines import Fault, read_lines
from seqloom.data.readers import Columns, Row, pick_pairs

MAX_RECORD_LINES = 1000  # a quote that is open for longer is taken as never closed
csv.field_size_limit(2**31 - 1)  # Python's own limit, 128 KB, would stop at a long line

Numbered = tuple[int, str | Fault]


def read_csv(path: Path, columns: Columns, references: bool, normalise: str) -> Iterator[Row]:
    return pick_pairs(path, csv_rows(read_lines(path, normalise)), columns, references)


def csv_rows(lines: Iterator[str | Fault]) -> Iterator[tuple[int, list[str] | Fault]]:
    ahead: deque[Numbered] = deque()  # lines that were read for a record that did not want them
    numbered = enumerate(lines, 1)
    while following := ahead.popleft() if ahead else next(numbered, None):
        line, text = following
        if isinstance(text, Fault):
            yield line, text
        elif '"' not in text:
            yield line, text.split(",")
        else:
            yield line, quoted_record(line, text, ahead, numbered)


def quoted_record(line: int, text: str, ahead: deque[Numbered], numbered: Iterator[Numbered]) -> list[str] | Fault:
    """The cells of the record that begins here; takes as many lines as it needs, and gives them back if it fails."""
    taken: list[Numbered] = []
    while True:
        try:
            return next(csv.reader([text], strict=True))
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
    """The next lines up to the first with a quote in it; all that were looked at when there is none."""
    added: list[Numbered] = []
    while len(added) < most and (following := ahead.popleft() if ahead else next(numbered, None)):
        added.append(following)
        if isinstance(following[1], Fault) or '"' in following[1]:
            break
    return added
