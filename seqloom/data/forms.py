"""The forms that the data of a task can have. Each is read into pairs, so that one path leads from all to batches.

    pairs      source <TAB> target                       -> (source, target)
    labelled   label <TAB> text, or label text           -> (text, label)
    tagged     word word ... <TAB> tag tag ...           -> (words, tags), as many of the one as of the other
    text       one text per line; blank lines between    -> (text, "")
    stream     running text, blank lines included        -> (line, ""): the order of the lines matters

A record that does not fit becomes a Fault in its place.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from seqloom.data.headers import SIDES
from seqloom.data.letters import is_blank
from seqloom.data.lines import Fault, first_few
from seqloom.data.table_readers import Pair, Row, Table, read_table
from seqloom.text.labels import one_word

ONE_COLUMN = ("text", "stream")
LABELS = ("labelled", "tagged")  # the targets come from a closed list
LINE = {
    "pairs": "source<TAB>target",
    "labelled": "label<TAB>text, or label text",
    "tagged": "tokens<TAB>tags",
    "text": "a text",
    "stream": "running text",
}  # what a line holds, in words
FIELDS = {
    "pairs": "both fields as texts",
    "labelled": "the label as a text, a number or true or false, the text as a text",
    "tagged": 'tokens and tags as texts or as lists of words: {"tokens": ["the", "end"], "tags": ["DET", "NOUN"]}',
    "text": "",
    "stream": "",
}  # what the fields of a JSON object hold; plain text is never read as JSON
LOOKED_AT = 100  # lines that show whether a tab or a blank follows the label


def read_text(lines: Iterator[str | Fault], keep_blank: bool) -> Iterator[Row]:
    """Yield each line as a text without a target; with `keep_blank` also blank lines, if the file has any text."""
    before: list[tuple[int, str]] = []  # blank lines at the beginning: kept when a text follows
    begun = False
    for number, line in enumerate(lines, 1):
        if isinstance(line, Fault):
            yield line
        elif not is_blank(line) or (keep_blank and begun):
            yield from (Pair(place, blank, ("",)) for place, blank in before)
            yield Pair(number, line, ("",))
            before, begun = [], True
        elif keep_blank:
            before.append((number, line))
        else:
            yield Fault("blank line", number, "")
    yield from (Fault("blank line", place, "") for place, _ in before)


def read_labelled(path: Path, lines: Iterator[str | Fault], uses: list[str]) -> Iterator[Row]:
    """Read `label<TAB>text` if half of the first lines have a tab, else `label text`: one odd line must not decide."""
    first = first_few(lines, LOOKED_AT, lambda line: len(line) if isinstance(line, str) else 0)
    written = [line for line in first if isinstance(line, str) and line.strip()]
    lines = chain(first, lines)
    if 2 * sum("\t" in line for line in written) >= len(written):
        return label_first(read_table(path, lines, Table(form="labelled"), uses))
    uses += ["the first word of a line", "the rest of the line"]
    return split_at_blanks(lines)


def split_at_blanks(lines: Iterable[str | Fault]) -> Iterator[Row]:
    """Read `label text`: the first word is the label."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, Fault):
            yield line
            continue
        words = line.strip().split(None, 1)
        if len(words) == 2:
            yield Pair(number, words[1], (one_word(words[0]),))
        elif words:
            yield Fault("empty side", number, f"a label ({words[0][:40]!r}) without a text")
        else:
            yield Fault("missing column", number, "a blank line")


def label_first(rows: Iterator[Row]) -> Iterator[Row]:
    """Turn (label, text) into (text, label): the model reads the source and answers with the target."""
    for row in rows:
        if isinstance(row, Pair):
            yield Pair(row.line, row.target, (one_word(row.source),))
        else:
            yield name_sides(row, SIDES["labelled"])


def check_tags(rows: Iterator[Row]) -> Iterator[Row]:
    """Pass on the rows with one tag per word; the others become faults."""
    for row in rows:
        if isinstance(row, Pair) and (words := len(row.source.split())) != (tags := len(row.target.split())):
            yield Fault("ragged tags", row.line, f"{words} word(s), {tags} tag(s)")
        else:
            yield row if isinstance(row, Pair) else name_sides(row, SIDES["tagged"])


def name_sides(fault: Fault, names: tuple[str, str]) -> Fault:
    """Name the empty sides as these files do: the readers know only source and target."""
    if fault.kind != "empty side":
        return fault
    empty = [name for side, name in zip(SIDES["pairs"], names, strict=True) if side in fault.detail.split()]
    return Fault(fault.kind, fault.line, " and ".join(empty))
