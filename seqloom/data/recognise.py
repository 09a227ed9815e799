"""What a file is, by its content: a table, JSON, a translation memory, plain text, or something that holds no pairs.

The name only breaks ties. What cannot be read is refused with its name and the way out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from seqloom.data.encodings import UTF8, encoding_of
from seqloom.data.headers import names_columns
from seqloom.data.lines import STDIN
from seqloom.data.sample import Sample, sample_of
from seqloom.data.separators import TAB, all_quoted, find_delimiter, is_spaced
from seqloom.data.table_readers import SEP_LINE, Table, table_rows
from seqloom.errors import UsageError

ENDINGS = {
    ".tsv": "tsv", ".tab": "tsv", ".txt": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip
PAIRS = "file.tsv, file.csv, file.jsonl, file.tmx, file.xlf or source.txt,target.txt (each also .gz)"
SAVE_AS = "Open it and save the sheet as 'CSV UTF-8', then give that file."
TEXT_ONLY = "Save the text as UTF-8 with one pair per line: source<TAB>target."
# First bytes, what they begin, and the way out.
BINARY = (
    (b"\xd0\xcf\x11\xe0", "an old Office file (.xls or .doc)", SAVE_AS),
    (b"%PDF", "a PDF document", f"It has no columns that a program could trust. {TEXT_ONLY}"),
    (b"{\\rtf", "an RTF document", TEXT_ONLY),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV: sqlite3 -csv FILE 'select ...' > pairs.csv"),
    (b"PAR1", "a Parquet file", "Write it as CSV: pandas.read_parquet(FILE).to_csv('pairs.csv', index=False)"),
    (b"\xfd7zXZ", "packed with xz", "Unpack it: xz -d FILE"),
    (b"BZh", "packed with bzip2", "Unpack it: bzip2 -d FILE"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "Unpack it: zstd -d FILE"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "Unpack it and give the file inside."),
    (b"Rar!", "a RAR archive", "Unpack it and give the file inside."),
)
OFFICE = {  # what the names inside a zip archive show
    b"xl/": ("an Excel workbook", SAVE_AS),
    b"word/": ("a Word document", f"Copy the table into a spreadsheet, or: {TEXT_ONLY[0].lower()}{TEXT_ONLY[1:]}"),
    b"application/vnd.oasis.opendocument.spreadsheet": ("an OpenDocument spreadsheet", SAVE_AS),
    b"application/vnd.oasis.opendocument": ("an OpenDocument text", TEXT_ONLY),
}
SUBTITLES = re.compile(r"\d\d:\d\d[,.:]\d+ --> \d")
ELEMENT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")


@dataclass(frozen=True)
class Found:
    """What a file is, and how its bytes become lines and cells."""

    format: str  # tsv, csv, jsonl, json, tmx, xliff, lines
    encoding: str = UTF8
    line_end: str = "\n"
    delimiter: str = ""  # "" = the usual one of the format
    header: bool = False  # the first row names the columns, as the numbers below show
    spaced: bool = False  # a blank follows each separator, and is not part of the cell


def recognise(file: Path, form: str, delimiter: str = "", encoding: str = "", want: str = "table") -> Found:
    """Recognise a file; a UsageError for one that holds no such records.

    delimiter, encoding: what the user said. want: a table, lines, or labels: lines that begin with one.
    """
    sample = sample_of(file)
    if not encoding:
        encoding = encoding_of(sample.bytes)
        if encoding == UTF8:
            refuse_binary(file, sample.bytes)
    line_end = line_end_of(sample, encoding)
    pieces = sample.lines(encoding, line_end)
    start = "\n".join(pieces[0]).lstrip()
    refuse_other_text(file, start)
    if special := format_of_text(file, start, pieces):
        if want == "lines" and special != "jsonl":
            raise UsageError(f"{file}: {IN_WORDS[special]}; here every line of a file is taken for a text.")
        if delimiter:
            raise UsageError(f"--delimiter: {file} is {IN_WORDS[special]}, not a table.")
        if want != "lines":
            return Found(special, encoding, line_end)
    if want != "table":
        return Found("lines", encoding, line_end)
    found, quotes = table_of(file, pieces, delimiter)
    table = Table(delimiter=found, quotes=quotes, form=form)
    rows = [cells for _, cells in table_rows(pieces[0][:200], table) if isinstance(cells, list)]
    usual = "," if quotes else TAB
    delimiter = found if found != usual else ""
    spaced = quotes and is_spaced(pieces, found)
    return Found("csv" if quotes else "tsv", encoding, line_end, delimiter, names_columns(rows), spaced)


IN_WORDS = {"jsonl": "JSON lines", "json": "a JSON array", "tmx": "a TMX file", "xliff": "an XLIFF file"}


def ending_of(file: Path) -> str:
    """Return the ending of a name, without .gz."""
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def table_of(file: Path, pieces: Sequence[Sequence[str]], delimiter: str) -> tuple[str, bool]:
    """Return what separates the columns of a table, and whether quotes belong to its format."""
    named = ENDINGS.get(ending_of(file), "")
    if not delimiter and pieces[0] and (said := SEP_LINE.fullmatch(pieces[0][0].strip())):
        delimiter = said[1]
    delimiter = delimiter or find_delimiter(file, pieces, "," if named == "csv" else TAB)
    if not named and file != STDIN and delimiter == TAB and pieces[0][0] and TAB not in pieces[0][0]:
        raise UsageError(
            f"{file}: the name does not show the format and line 1 has no tab. PAIRS = {PAIRS}. "
            f"If this is one side of a corpus, name both: {file},TARGET"
        )
    return delimiter, named == "csv" or delimiter in ",;" or (delimiter == TAB and all_quoted(pieces))


def line_end_of(sample: Sample, encoding: str) -> str:
    """Return \\r for a file with the line ends of old Macs: it has no other."""
    text = sample.bytes.decode(encoding, "replace")
    return "\r" if "\r" in text and "\n" not in text else "\n"


def format_of_text(file: Path, start: str, pieces: Sequence[Sequence[str]]) -> str:
    """Return the format of text that is not a table: tmx, xliff, json or jsonl; else an empty word."""
    if start.startswith("<"):
        root = ELEMENT.search(re.sub(r"<!--.*?-->|<[?!][^>]*>", "", start, flags=re.DOTALL))
        if root and root[1].lower() in ("tmx", "xliff"):
            return root[1].lower()
        if start.startswith("<?xml") or (root and root[1].lower() == "html"):
            what = f"XML with the root <{root[1]}>" if root else "XML"
            raise UsageError(f"{file}: {what}. Of XML, only TMX and XLIFF hold pairs. PAIRS = {PAIRS}")
    named = ENDINGS.get(ending_of(file))
    if start[:1] == "[" and (named == "jsonl" or is_json(start[: start.find("\n")].rstrip(",")) or start[1:2] in "\n"):
        lists = [line for line in pieces[0] if line.strip()]
        each = len(lists) > 1 and all(is_json(line) for line in lists[:10])
        return "jsonl" if each else "json"
    lines = [line for piece in pieces for line in piece if line.strip()][:100]
    objects = sum(line.lstrip()[:1] == "{" and is_json(line) for line in lines)
    if named == "jsonl" and lines and not objects and start[:1] == "{":
        raise UsageError(
            f"{file}: one JSON object over several lines. Want an array of objects, or one object per line; "
            f"`jq -c '.NAME[]' {file} > pairs.jsonl` writes the array under NAME in this way."
        )
    return "jsonl" if named == "jsonl" or (lines and objects > 0.9 * len(lines)) else ""


def is_json(line: str) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    except RecursionError:
        return True  # the reader reports the line
    return True


def refuse_other_text(file: Path, start: str) -> None:
    """Refuse text of a known kind that holds no pairs: sub-titles, message catalogues."""
    if start.startswith("WEBVTT") or SUBTITLES.search(start[:400]):
        raise UsageError(
            f"{file}: sub-titles: texts of one language with their times, not pairs. Give pairs of lines: write the "
            "texts of both languages into two files, line n of the one a translation of line n of the other, and give "
            "source.txt,target.txt. OPUS has sub-titles that are aligned already (OpenSubtitles, TMX or Moses)."
        )
    if re.search(r'^msgid "', start[:4000], re.MULTILINE) and "msgstr" in start:
        raise UsageError(f"{file}: a gettext catalogue (.po). Turn it into TMX: po2tmx -l LANGUAGE {file} pairs.tmx")


def refuse_binary(file: Path, sample: bytes) -> None:
    """Refuse what is not text, by its first bytes, or by bytes that no text has."""
    what = way_out = ""
    if sample.startswith(b"PK\x03\x04"):
        what, way_out = "a zip archive", "Unpack it and give the file inside."
        kinds = (kind for mark, kind in OFFICE.items() if mark in sample)
        what, way_out = next(kinds, (what, way_out))
    for mark, kind, advice in BINARY:
        if sample.startswith(mark):
            what, way_out = kind, advice.replace("FILE", str(file))
    odd = sum(sample.count(byte) for byte in (*range(7), *range(14, 27))) if not what else 0
    if odd > 0.02 * len(sample):
        what, way_out = "not text: it has bytes that no text has", TEXT_ONLY
    if what:
        raise UsageError(f"{file}: {what}. {way_out} PAIRS = {PAIRS}")
