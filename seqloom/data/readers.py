"""Lines -> pairs, one reader a format; a record that is no pair becomes a Fault in its place, so pairs never shift.

Columns are told by number (from 1) or by name. A name asks for a header: the first row of a TSV or CSV file. Without
`columns` a first row of well-known names (source target, src tgt, input output, or two language codes) is a header too.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

import msgspec

from seqloom.data import languages
from seqloom.data.lines import Fault, read_lines
from seqloom.errors import UsageError, did_you_mean

Columns = tuple[str, ...]
SIDES = ("source", "target")
NAMES = (
    ("source", "target"), ("src", "tgt"), ("src", "trg"), ("input", "output"), ("label", "text"), ("tokens", "tags"),
)  # fmt: skip


class Pair(msgspec.Struct, frozen=True, gc=False):
    """A source and its target; `targets` holds further references after THE target."""

    line: int
    source: str
    targets: tuple[str, ...]

    @property
    def target(self) -> str:
        return self.targets[0]


Row = Pair | Fault


def read_tsv(path: Path, columns: Columns, references: bool, normalise: str) -> Iterator[Row]:
    """Cells between tabs; quotes mean nothing."""
    return split_cells(path, read_lines(path, normalise), columns, references)


def split_cells(path: Path, lines: Iterable[str | Fault], columns: Columns, references: bool) -> Iterator[Row]:
    numbered = enumerate(lines, 1)
    rows = ((line, text.split("\t") if isinstance(text, str) else text) for line, text in numbered)
    return pick_pairs(path, rows, columns, references)


def read_parallel(source: Path, target: Path, normalise: str) -> Iterator[Row]:
    """Line n of the one file with line n of the other, blank or not; lines that only one file has are faults."""
    sides = zip_longest(read_lines(source, normalise), read_lines(target, normalise))
    for line, (src, tgt) in enumerate(sides, 1):
        if isinstance(src, str) and isinstance(tgt, str):
            yield pair_of(line, (src, tgt), False)
        elif src is None or tgt is None:
            yield Fault("unequal lines", line, f"no such line in {source if src is None else target}")
        else:
            bad = [(path, side) for path, side in ((source, src), (target, tgt)) if isinstance(side, Fault)]
            yield Fault(bad[0][1].kind, line, "; ".join(f"{path}: {side.detail}" for path, side in bad))


def pick_pairs(
    path: Path, rows: Iterator[tuple[int, list[str] | Fault]], columns: Columns, references: bool
) -> Iterator[Row]:
    """Rows of cells -> pairs: the first row says whether it is a header, then each row gives its chosen cells."""
    first = next(rows, None)
    if first is None:
        return
    header = first[1] if isinstance(first[1], list) else []
    chosen, is_header = choose_columns(path, columns, header, references)
    if is_header:
        names = ", ".join(header[i] for i in chosen) if chosen else ", ".join(header)
        yield Fault("header", first[0], names)
    else:
        rows = chain([first], rows)
    for line, cells in rows:
        if isinstance(cells, Fault):
            yield cells
        elif not chosen:
            yield pair_of(line, cells, references)
        elif len(cells) <= max(chosen[:2]):
            yield Fault("missing column", line, f"{count(cells)}, want column {max(chosen[:2]) + 1}")
        else:
            yield pair_of(line, [cells[i] for i in chosen if i < len(cells)], references or len(chosen) > 2)


def pair_of(line: int, cells: Sequence[str], references: bool) -> Row:
    """The pair of a row's cells, or the fault that makes it none."""
    if len(cells) == 2:
        source, target = cells
        if source.strip() and target.strip():
            return Pair(line, source, (target,))
    elif len(cells) < 2:
        return Fault("missing column", line, f"{count(cells)}, want 2" if any(cells) else "a blank line")
    elif not references:
        return Fault("extra column", line, f"{count(cells)}, want 2")
    empty = [side for side, text in zip(SIDES, cells, strict=False) if not text.strip()]
    if empty:
        return Fault("empty side", line, " and ".join(empty))
    return Pair(line, cells[0], (cells[1], *(text for text in cells[2:] if text.strip())))


def count(cells: Sequence[str]) -> str:
    return f"{len(cells)} column" + "s" * (len(cells) != 1)


def choose_columns(path: Path, columns: Columns, first: list[str], references: bool) -> tuple[tuple[int, ...], bool]:
    """Indexes of the chosen cells (none = all), and whether the first row is a header."""
    names = [cell.strip().lower() for cell in first]
    if not columns:
        pair = known_pair(names)
        return (columns_of(names, pair, references), True) if pair else ((), False)
    chosen = []
    for column in columns:
        if column.isdecimal():
            chosen.append(int(column) - 1)
        elif column.lower() in names:
            chosen.append(names.index(column.lower()))
        else:
            near = did_you_mean(column.lower(), names)
            raise UsageError(f"{path}: line 1 names no column {column!r} (got: {', '.join(names)[:200]}).{near}")
    named = any(not column.isdecimal() for column in columns)
    return tuple(chosen), named or bool(known_pair([names[i] for i in chosen if i < len(names)]))


def known_pair(names: Sequence[str]) -> tuple[str, str] | None:
    """The two names that say source and target: a well-known couple, or the only two language codes."""
    for pair in NAMES:
        if set(pair) <= set(names):
            return pair
    codes = [name for name in names if languages.is_code(name)]
    if len(codes) > 2 and "id" in codes:
        codes.remove("id")  # far more often a number than Indonesian
    return (codes[0], codes[1]) if len(codes) == 2 and codes[0] != codes[1] else None


def columns_of(names: Sequence[str], pair: tuple[str, str], references: bool) -> tuple[int, ...]:
    chosen = [names.index(name) for name in pair]
    if references:  # further columns that are named like references: ref, reference2, target_2, fr2
        chosen += [i for i, name in enumerate(names) if i not in chosen and name.startswith(("ref", pair[1]))]
    return tuple(chosen)
