"""Read a JSON array element by element, so that a large file, also one without line ends, does not fill the memory."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from seqloom.data.lines import Fault
from seqloom.files.reading import has_half_character

LONGEST = 1 << 23  # characters of an element; a longer one is taken for a bracket that is never closed
MOST_DIGITS = 4000  # of a whole number; Python itself refuses to read 4,301
BETWEEN = re.compile(r"[\s,]*")


def array_elements(blocks: Iterable[str | Fault]) -> Iterator[tuple[int, Any]]:
    """Yield the line of each element, and the element; a Fault where the array is broken, as the last.

    blocks: the text, cut anywhere. Each row needs a line of its own: an element that begins on the line of the one
    before gets the next number.
    """
    last, reading = 0, iter(blocks)
    for line, element in elements_of(reading):
        last = max(line, last + 1)
        yield last, Fault(element.kind, last, element.detail) if isinstance(element, Fault) else element
    for _ in reading:
        pass  # what follows the array is read too: the whole file is hashed


def elements_of(reading: Iterator[str | Fault]) -> Iterator[tuple[int, Any]]:
    """Yield the line on which each element begins, and the element."""
    decoder = Elements()
    text, line, place = "", 1, 0
    opened, more = False, True
    while True:
        place, line = skip(text, place, line)
        if place < len(text):
            if not opened:
                opened, place = True, place + 1  # the bracket that `recognise` has seen
                continue
            if text[place] == "]":
                return
            try:
                element, end = decoder.read(text, place)
            except (ValueError, RecursionError) as error:
                too_deep = isinstance(error, RecursionError)
                if too_deep or not more or len(text) - place > LONGEST:
                    why = "nested too deeply" if too_deep else getattr(error, "msg", "not JSON")
                    yield line, Fault("broken array", line, f"{why}; the rest is not read")
                    return
            else:
                if end < len(text) or not more:  # a number at the end of a block may continue in the next
                    yield line, decoder.checked(element, line, text[place:end])
                    line += text.count("\n", place, end)
                    place = end
                    continue
        if not more:
            yield line, Fault("broken array", line, "the array is not closed: the file may be cut off")
            return
        added = next(reading, None)
        if isinstance(added, Fault):
            yield added.line, added
            return
        more = added is not None
        text, place = text[place:] + (added or ""), 0


def skip(text: str, place: int, line: int) -> tuple[int, int]:
    """Go to the next element or bracket; return its place and its line."""
    match = BETWEEN.match(text, place)
    end = match.end() if match else place
    return end, line + text.count("\n", place, end)


class Elements:
    """Reads one element at a time and remembers what is wrong with it."""

    def __init__(self) -> None:
        self.twice: list[str] = []  # keys
        self.too_large = False
        self.decode = json.JSONDecoder(object_pairs_hook=self.as_dict, parse_int=self.as_number).raw_decode

    def read(self, text: str, place: int) -> tuple[Any, int]:
        self.twice.clear()
        self.too_large = False
        return self.decode(text, place)

    def as_dict(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.twice.append(next(name for name, count in counts.items() if count > 1))
        return record

    def as_number(self, digits: str) -> int:
        if len(digits) <= MOST_DIGITS:
            return int(digits)
        self.too_large = True
        return 0

    def checked(self, element: Any, line: int, text: str) -> Any:
        """The element, or a Fault if a key occurs twice, a number is too large or a text has half of a character."""
        if self.twice:
            return Fault("bad JSON", line, f"the key {self.twice[0]!r} occurs twice")
        if self.too_large:
            return Fault("bad JSON", line, f"a number of more than {MOST_DIGITS:,} digits")
        if "\\u" in text and has_half_character(element):
            return Fault("bad JSON", line, "half of a character (a lone surrogate)")
        return element
