"""How a corpus is read, in words: what the file is, which column is which, and advice where its bytes do not fit."""

from collections import Counter

from seqloom.data.checks import Chunk
from seqloom.data.corpus import CorpusSpec
from seqloom.data.encodings import LEGACY, UTF8, likely_encoding
from seqloom.data.findings import shorten, show_pair
from seqloom.data.forms import ONE_COLUMN
from seqloom.data.headers import SIDES, is_number
from seqloom.data.sample import sample_of
from seqloom.data.separators import TAB
from seqloom.data.table_readers import Table, table_rows

SHOWN = 40  # characters of an example


def reading_in_words(spec: CorpusSpec, uses: list[str], first: Chunk | None) -> str:
    """Say what the file is, what source and target are taken from, and show the first record."""
    words = spec.described
    if spec.form in ONE_COLUMN or len(uses) < 2:
        return words
    one, other = SIDES[spec.form]
    words += f"; {uses[0]} is the {one}, {uses[1]} the {other}"
    if uses[2:]:
        words += f", {' and '.join(uses[2:])} further references"
    if first:
        pair = first.sources[0], first.targets[0].replace("▁", " ") if spec.form == "labelled" else first.targets[0]
        source, target = pair if spec.form != "labelled" else pair[::-1]
        words += f"; line {first.lines[0]}: {show_pair(source, target)}"
    return words


def is_plain(spec: CorpusSpec, uses: list[str]) -> bool:
    """Whether a file is read as everyone expects: UTF-8, tabs or two files, no names; a notice would not help."""
    usual = all((one.encoding, one.line_end, one.delimiter) == (UTF8, "\n", "") for one in spec.found)
    return usual and spec.format in ("tsv", "parallel", "lines") and not any("'" in name for name in uses)


def encoding_advice(spec: CorpusSpec) -> str:
    """Say what to do about lines that are not UTF-8: which encoding they have, and whether all lines have it."""
    lines = [line for file in spec.files for line in sample_of(file).bytes.split(b"\n")]
    broken = [line for line in lines if not is_utf8(line)]
    good = sum(is_utf8(line) and not line.isascii() for line in lines)
    likely = likely_encoding(b"\n".join(broken)) if broken else ""
    if good > len(broken) or not broken:
        looks = f"; they look like {likely}" if likely else ""
        return f"these lines have another encoding than the rest of the file{looks}: write them again, or {{drop}}"
    if not likely:
        return "find out which encoding the file has and name it: --encoding NAME; or {drop}"
    first = next(place for place, byte in enumerate(broken[0]) if byte > 127)
    text = broken[0][max(0, first - SHOWN // 2) :].decode(likely, "replace")
    shown = shorten(text.replace("\t", " | ").strip(), SHOWN)
    return (
        f"the file looks like {likely} ({LEGACY[likely]}); if this text is right: {shown!r}, then add "
        f"--encoding {likely}; or {{drop}}"
    )


def xml_advice(spec: CorpusSpec) -> str:
    """Say what to do about broken XML: often its bytes are not in the encoding that its first line declares."""
    if is_utf8(sample_of(spec.files[0]).head.rsplit(b"\n", 1)[0]):
        return "repair the file, or export it again"
    return encoding_advice(spec)


def is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def column_advice(spec: CorpusSpec) -> str:
    """Say what to do about further columns: which of them hold texts, or that cells with a separator need quotes."""
    choose = "say which two to use: --columns 1,2"
    if spec.format not in ("tsv", "csv"):
        return choose
    found = spec.found[0]
    lines = sample_of(spec.files[0]).lines(found.encoding, found.line_end)[0][:200]
    quotes = spec.format == "csv"
    table = Table(delimiter=found.delimiter or ("," if quotes else TAB), quotes=quotes)
    rows = [cells for _, cells in table_rows(lines, table) if isinstance(cells, list)]
    widths = Counter(map(len, rows))
    if not widths:
        return choose
    usual = widths.most_common(1)[0][0]
    if widths[usual] < 0.95 * len(rows) or usual < 3:
        sign = "separator"
        return f'the number of columns differs between lines: write a cell that holds the {sign} in quotes: "a, b"'
    texts = [place for place in range(usual) if not all_numbers([row[place] for row in rows if place < len(row)])]
    kinds = ", ".join(f"{place + 1} {shorten(cell.strip(), 20)!r}" for place, cell in enumerate(rows[-1][:8]))
    chosen = texts if len(texts) == 2 else [0, 1]
    return f"columns: {kinds}. Say which two to use: --columns {','.join(str(place + 1) for place in chosen)}"


def all_numbers(cells: list[str]) -> bool:
    """Whether a column holds numbers only, or nothing."""
    return all(not cell.strip() or is_number(cell) for cell in cells)
