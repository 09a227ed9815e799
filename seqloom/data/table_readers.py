"""Read pairs from the rows of tables and from parallel files.

A record that is not a pair becomes a Fault in its place, so pairs never shift. Columns are given by number (from 1) or
by name. A name asks for a header: the first row of a table. Without `columns` a first row of well-known names
(source target, src tgt, input output, or two languages) is a header too; so is a name above a column of numbers.

The cells of CSV: csv_reader.py; JSON: jsonl_reader.py, json_array.py; TMX and XLIFF: tmx_xliff.py.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

import msgspec

from seqloom.data.csv_reader import csv_rows
from seqloom.data.headers import SIDES, known_couple, names_only
from seqloom.data.letters import UNSEEN, is_blank
from seqloom.data.lines import Fault
from seqloom.data.read_as import Columns
from seqloom.errors import UsageError, did_you_mean

BARS = ("|", "|||")
SEP_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # the first line of a CSV file for Excel


@dataclass(frozen=True)
class Table:
    """How the lines of a table become pairs."""

    columns: Columns = ()  # as the user named them: source, target, further references
    delimiter: str = "\t"
    quotes: bool = False  # a cell in quotes may hold the separator and line ends (CSV)
    header: bool = False  # the first row names the columns, as the other rows show
    form: str = "pairs"
    spaced: bool = False  # a blank follows each separator, and is not part of the cell
    references: bool = False  # further columns are further targets instead of a fault


class Pair(msgspec.Struct, frozen=True, gc=False):
    """A source and its target; `targets` holds further references after THE target."""

    line: int
    source: str
    targets: tuple[str, ...]

    @property
    def target(self) -> str:
        return self.targets[0]


Row = Pair | Fault


def read_table(path: Path, lines: Iterable[str | Fault], table: Table, uses: list[str]) -> Iterator[Row]:
    """Yield the pairs of the chosen columns, whose names are appended to `uses`."""
    return pick_pairs(path, table_rows(lines, table), table, uses)


def table_rows(lines: Iterable[str | Fault], table: Table) -> Iterator[tuple[int, list[str] | Fault]]:
    """Yield the cells of each record, with its first line; Excel's line `sep=;` is a note in its place."""
    lines = iter(lines)
    first = next(lines, None)
    if first is None:
        return
    begin = 1
    if isinstance(first, str) and SEP_LINE.fullmatch(first.strip()):
        yield 1, Fault("separator line", 1, first.strip())
        begin = 2
    else:
        lines = chain([first], lines)
    delimiter = table.delimiter
    if table.quotes:
        yield from csv_rows(lines, delimiter, begin, table.spaced)
    elif delimiter in BARS:  # they are written between blanks
        for line, text in enumerate(lines, begin):
            yield line, [cell.strip() for cell in text.split(delimiter)] if isinstance(text, str) else text
    else:
        for line, text in enumerate(lines, begin):
            yield line, text.split(delimiter) if isinstance(text, str) else text


def read_parallel(files: Sequence[Path], sides: Sequence[Iterable[str | Fault]]) -> Iterator[Row]:
    """Pair line n of one file with line n of the other, blank or not; lines that only one file has are faults."""
    source, target = files
    for line, (src, tgt) in enumerate(zip_longest(*sides), 1):
        if isinstance(src, str) and isinstance(tgt, str):
            yield pair_of(line, (src, tgt), False)
        elif src is None or tgt is None:
            yield Fault("unequal lines", line, f"no such line in {source if src is None else target}")
        else:
            bad = [(path, side) for path, side in ((source, src), (target, tgt)) if isinstance(side, Fault)]
            yield Fault(bad[0][1].kind, line, "; ".join(f"{path}: {side.detail}" for path, side in bad))


def pick_pairs(
    path: Path, rows: Iterator[tuple[int, list[str] | Fault]], table: Table, uses: list[str]
) -> Iterator[Row]:
    """Turn rows of cells into pairs: the first row may be a header, each other row gives its chosen cells."""
    first = next(rows, None)
    if first is not None and isinstance(first[1], Fault) and first[1].kind == "separator line":
        yield first[1]
        first = next(rows, None)
    if first is None:
        return
    header = first[1] if isinstance(first[1], list) else []
    chosen, is_header = choose_columns(path, header, table)
    uses += [name_column(place, header if is_header else ()) for place in chosen or (0, 1)]
    if is_header:
        names = ", ".join(header[i] for i in chosen) if chosen else ", ".join(header)
        yield Fault("header", first[0], names)
    else:
        rows = chain([first], rows)
    widest = len(header) if header and (is_header or table.quotes) else sys.maxsize
    references = table.references
    if not chosen:
        for line, cells in rows:
            yield pair_of(line, cells, references) if isinstance(cells, list) else cells
        return
    for line, cells in rows:
        if isinstance(cells, Fault):
            yield cells
        elif len(cells) <= max(chosen[:2]):
            yield Fault("missing column", line, f"{count(cells)}, want column {max(chosen[:2]) + 1}")
        elif len(cells) > widest and any(map(str.strip, cells[widest:])):
            yield Fault("extra column", line, f"{count(cells)}, line {first[0]} has {widest}")
        else:
            yield pair_of(line, [cells[i] for i in chosen if i < len(cells)], references or len(chosen) > 2)


def pair_of(line: int, cells: Sequence[str], references: bool) -> Row:
    """Return the pair of a row's cells, or the fault that makes it unusable."""
    if len(cells) == 2:
        source, target = cells
        if source and target and source[0] not in UNSEEN and target[0] not in UNSEEN:  # quick, for most
            return Pair(line, source, (target,))
        if not is_blank(source) and not is_blank(target):
            return Pair(line, source, (target,))
    elif len(cells) < 2:
        return Fault("missing column", line, f"{count(cells)}, want 2" if any(cells) else "a blank line")
    elif not references and any(map(str.strip, cells[2:])):
        return Fault("extra column", line, f"{count(cells)}, want 2")
    empty = [side for side, text in zip(SIDES["pairs"], cells, strict=False) if is_blank(text)]
    if empty:
        unseen = any(text.strip() and is_blank(text) for text in cells[:2])
        return Fault("empty side", line, " and ".join(empty) + ", only characters that show nothing" * unseen)
    return Pair(line, cells[0], (cells[1], *(text for text in cells[2:] if not is_blank(text))))


def name_column(place: int, header: Sequence[str]) -> str:
    """Name a column for people: `column 2 'French'`."""
    return f"column {place + 1}" + (f" {header[place].strip()!r}" if place < len(header) else "")


def count(cells: Sequence[str]) -> str:
    return f"{len(cells)} column" + "s" * (len(cells) != 1)


def choose_columns(path: Path, first: list[str], table: Table) -> tuple[tuple[int, ...], bool]:
    """Return the indexes of the chosen cells (none = all), and whether the first row is a header."""
    names = [cell.strip().lower() for cell in first]
    if not table.columns:
        couple = known_couple(names, table.form)
        if not couple and (names_only(first) or (table.header and len(names) > 2)):
            (one, other), written = SIDES[table.form], [cell.strip() for cell in first]
            raise UsageError(
                f"{path}: which columns are {one} and {other}? Line 1 names: {', '.join(written)}. "
                f"Choose them by name or number: --columns {','.join(written[-2:])}"
            )
        return (columns_of(names, couple, table.references), True) if couple else ((), table.header)
    chosen = []
    for column in table.columns:
        if column.isdecimal():
            chosen.append(int(column) - 1)
        elif column.lower() in names:
            chosen.append(names.index(column.lower()))
        else:
            near = did_you_mean(column.lower(), names)
            raise UsageError(f"{path}: line 1 names no column {column!r} (got: {', '.join(names)[:200]}).{near}")
    named = table.header or any(not column.isdecimal() for column in table.columns)
    if named and (beyond := [i + 1 for i in chosen if i >= len(names)]):
        raise UsageError(f"{path}: line 1 has {len(names)} columns, so there is no column {beyond[0]}; see --columns")
    above = [names[i] for i in chosen if i < len(names)]
    return tuple(chosen), named or bool(known_couple(above) or known_couple(above, table.form))


def columns_of(names: Sequence[str], pair: tuple[str, str], references: bool) -> tuple[int, ...]:
    chosen = [names.index(name) for name in pair]
    if references:  # further columns that are named like references: ref, reference2, target_2, fr2
        chosen += [i for i, name in enumerate(names) if i not in chosen and name.startswith(("ref", pair[1]))]
    return tuple(chosen)
