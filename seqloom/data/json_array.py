"""Read a JSON array element by element, so that a large file does not fill the memory."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from seqloom.data.lines import Fault

LINES_AT_ONCE = 1000
LONGEST = 1 << 24  # characters of an element; a longer one is taken for a bracket that is never closed
BETWEEN = re.compile(r"[\s,]*")


def array_elements(lines: Iterable[str | Fault]) -> Iterator[tuple[int, Any]]:
    """Yield the line of each element, and the element; a Fault where the array is broken, as the last.

    Each row needs a line of its own: an element that begins on the line of the one before gets the next number.
    """
    last = 0
    for line, element in elements_of(lines):
        last = max(line, last + 1)
        yield last, element


def elements_of(lines: Iterable[str | Fault]) -> Iterator[tuple[int, Any]]:
    """Yield the line on which each element begins, and the element."""
    reading = iter(lines)
    decode = json.JSONDecoder().raw_decode
    text, line, place, more = "", 1, 0, True
    opened = False
    while True:
        place, line = skip(text, place, line)
        if place < len(text):
            if not opened:
                opened, place = True, place + 1  # the bracket that `recognise` has seen
                continue
            if text[place] == "]":
                return
            try:
                element, end = decode(text, place)
            except (ValueError, RecursionError) as error:
                too_deep = isinstance(error, RecursionError)
                if too_deep or not more or len(text) - place > LONGEST:
                    why = "nested too deeply" if too_deep else getattr(error, "msg", "not JSON")
                    yield line, Fault("broken array", line, f"{why}; the rest is not read")
                    return
            else:
                yield line, element
                line += text.count("\n", place, end)
                place = end
                continue
        if not more:
            yield line, Fault("broken array", line, "the array is not closed: the file may be cut off")
            return
        added, more = next_lines(reading)
        if isinstance(added, Fault):
            yield added.line, added
            return
        text, place = text[place:] + added, 0


def skip(text: str, place: int, line: int) -> tuple[int, int]:
    """Go to the next element or bracket; return its place and its line."""
    match = BETWEEN.match(text, place)
    end = match.end() if match else place
    return end, line + text.count("\n", place, end)


def next_lines(reading: Iterator[str | Fault]) -> tuple[str | Fault, bool]:
    """Return the next lines as one text, and whether there may be more; a line that is not UTF-8 is returned alone."""
    added = list(islice(reading, LINES_AT_ONCE))
    broken = next((line for line in added if isinstance(line, Fault)), None)
    return broken or "".join(f"{line}\n" for line in added), len(added) == LINES_AT_ONCE
