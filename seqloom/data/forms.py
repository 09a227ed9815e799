"""What the files of a task hold, each read into pairs so that one path leads from any of them to batches.

    pairs      source <TAB> target                       -> (source, target)
    labelled   label <TAB> text, or label text           -> (text, label)
    tagged     word word ... <TAB> tag tag ...           -> (words, tags), as many of the one as of the other
    text       one text a line; blank lines part them    -> (text, "")
    stream     running text, blank lines included        -> (line, ""): what follows what matters

A record that does not fit becomes a Fault in its place.
"""

from collections.abc import Iterator

from seqloom.data.lines import Fault
from seqloom.data.readers import Pair, Row
from seqloom.text.labels import one_word

ONE_COLUMN = ("text", "stream")
LABELS = ("labelled", "tagged")  # the target is of a closed list


def read_text(lines: Iterator[str | Fault], keep_blank: bool) -> Iterator[Row]:
    """Each line as a text without a target."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, Fault):
            yield line
        elif line.strip() or keep_blank:
            yield Pair(number, line, ("",))
        else:
            yield Fault("blank line", number, "")


def read_labelled_lines(lines: Iterator[str | Fault]) -> Iterator[Row]:
    """`label text`: what stands before the first blank is the label."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, Fault):
            yield line
            continue
        label, _, text = line.strip().partition(" ")
        if text.strip():
            yield Pair(number, text.strip(), (one_word(label),))
        elif label:
            yield Fault("empty side", number, f"a label ({label[:40]!r}) and no text")
        else:
            yield Fault("missing column", number, "a blank line")


def label_first(rows: Iterator[Row]) -> Iterator[Row]:
    """(label, text) -> (text, label): what is read is the source."""
    for row in rows:
        yield row if isinstance(row, Fault) else Pair(row.line, row.target, (one_word(row.source),))


def check_tags(rows: Iterator[Row]) -> Iterator[Row]:
    """One tag a word."""
    for row in rows:
        if isinstance(row, Pair) and (words := len(row.source.split())) != (tags := len(row.target.split())):
            yield Fault("ragged tags", row.line, f"{words} word(s), {tags} tag(s)")
        else:
            yield row
