"""A corpus by its name: file.tsv | .csv | .jsonl | .json | .tmx | .xlf | source.txt,target.txt (each also .gz) | -

Its `form` (data/forms.py) says what a record is: a pair, a label with a text, a line of text.

`read_rows` yields every record as a Pair or a Fault; `usable_pairs` yields the pairs that training uses, exactly those
that the doctor counts as kept. Both stream, in file order.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data import languages
from seqloom.data.encodings import check_encoding
from seqloom.data.forms import ONE_COLUMN, check_tags, label_first, read_labelled, read_text
from seqloom.data.json_array import array_elements
from seqloom.data.jsonl_reader import read_records, records_of
from seqloom.data.lines import Fault, FileHash, check_file, name_of, read_lines, text_blocks
from seqloom.data.read_as import AS_FOUND, Columns, ReadAs
from seqloom.data.recognise import ENDINGS, IN_WORDS, PAIRS, Found, ending_of, recognise
from seqloom.data.separators import TAB, name_delimiter
from seqloom.data.table_readers import Pair, Row, Table, read_parallel, read_table
from seqloom.data.tmx_xliff import read_memory
from seqloom.errors import DataError, UsageError

__all__ = ["CorpusSpec", "Fault", "Pair", "ReadAs", "Row", "parse_mix", "read_rows", "usable_pairs"]

MEMORIES = ("tmx", "xliff")
MOST_ROWS, MOST_CHARS = 4096, 1 << 20  # of a chunk


@dataclass(frozen=True)
class CorpusSpec:
    """Where the records are and how to read them; `name` is what the user wrote."""

    name: str
    files: tuple[Path, ...]  # one, or two parallel ones
    format: str  # tsv, csv, jsonl, json, tmx, xliff, parallel, lines
    columns: Columns = ()  # names or numbers from 1: source, target, further references
    weight: float = 1.0
    form: str = "pairs"  # pairs, labelled, tagged, text, stream
    found: tuple[Found, ...] = ()  # what each file is, by its content
    read_as: ReadAs = AS_FOUND
    hashes: tuple[FileHash, ...] = field(default=(), compare=False)  # of the files, where a pass has computed them
    chunks: int = field(default=0, compare=False)  # of `row_chunks`, where a pass has counted them

    @classmethod
    def parse(
        cls, text: str, columns: str | Sequence[str] | ReadAs | None = None, weight: float = 1.0, form: str = "pairs"
    ) -> "CorpusSpec":
        """Parse what the user wrote; a UsageError when a file is missing, or the format or the columns are unclear."""
        read_as = ReadAs.of(columns)
        chosen, delimiter = read_as.chosen_columns(), read_as.chosen_delimiter()
        encoding = check_encoding(read_as.encoding) if read_as.encoding else ""
        files = split_files(text)
        for file in files:
            check_file(file)
        refuse_idle(text, files, chosen, delimiter, form)
        want = "table"
        if form in ONE_COLUMN or len(files) == 2:
            want = "lines"
        elif form == "labelled" and not chosen and not delimiter and tells_no_table(files[0]):
            want = "labels"
        found = tuple(recognise(file, form, delimiter, encoding, want) for file in files)
        known = "parallel" if len(files) == 2 else found[0].format
        return cls(name_of(text), files, known, chosen, weight, form, found, read_as)

    @property
    def languages(self) -> tuple[str, str]:
        """(source, target) by the names: a.en,a.fr or corpus.en-fr.tsv or columns en,fr; else ("", "")."""
        names = [file.name.removesuffix(".gz") for file in self.files]
        if len(names) == 2:
            return languages.of_pair(names[0], names[1])
        return (
            languages.of_columns(self.columns)
            if any(languages.of_columns(self.columns))
            else languages.of_file(names[0])
        )

    @property
    def described(self) -> str:
        """What the files are, in words: `CSV, columns separated by semicolons, UTF-16`."""
        words = {
            "tsv": f"columns separated by {name_delimiter(self.found[0].delimiter or TAB)}",
            "csv": f"CSV, columns separated by {name_delimiter(self.found[0].delimiter or ',')}",
            "parallel": "two parallel files",
            "lines": "plain text, line by line",
        }  # fmt: skip
        parts = [{**IN_WORDS, **words}[self.format]]
        for one in dict.fromkeys((one.encoding, one.line_end) for one in self.found):
            parts += [one[0].upper()] if one[0] != "utf-8" else []
            parts += ["line ends of old Macs"] if one[1] == "\r" else []
        return ", ".join(parts)


def refuse_idle(text: str, files: tuple[Path, ...], columns: Columns, delimiter: str, form: str) -> None:
    """Raise a UsageError for options that such files have no use for."""
    if form in ONE_COLUMN:
        if len(files) > 1:
            raise UsageError(f"{text}: this task reads plain text, one file. More of it: --mix FILE")
        if columns or delimiter:
            asked = f"--columns {','.join(columns)}" if columns else "--delimiter"
            raise UsageError(f"{asked}: this task reads plain text, whole lines. Cut the column out.")
    elif len(files) == 2 and (columns or delimiter):
        asked = "--columns" if columns else "--delimiter"
        raise UsageError(f"{text}: {asked} is for one file of several columns, not for two parallel files.")


def tells_no_table(file: Path) -> bool:
    """Whether the name leaves the format open (or is .txt): then the lines themselves show where a label ends."""
    ending = ending_of(file)
    return ENDINGS.get(ending, "tsv") == "tsv" and ending not in (".tsv", ".tab")


def split_files(text: str) -> tuple[Path, ...]:
    """Split the name into one path or two; a comma may be part of a file's name, so the files that exist decide."""
    if "," not in text or Path(text).exists():
        return (Path(text),)
    cuts = [i for i, letter in enumerate(text) if letter == ","]
    couples = [(Path(text[:i].strip()), Path(text[i + 1 :].strip())) for i in cuts]
    for couple in couples:
        if all(file.is_file() for file in couple):
            return couple
    if len(couples) > 1 or not text.strip(", "):
        raise UsageError(f"{text}: want one file, or two with one comma between them. PAIRS = {PAIRS}")
    return couples[0]


def parse_mix(text: str, columns: str | Sequence[str] | ReadAs | None = None, form: str = "pairs") -> CorpusSpec:
    """Parse `PAIRS:2`, a corpus of weight 2; without a number the weight is 1. A file whose name ends in :2 wins."""
    name, colon, number = text.rpartition(":")
    try:
        weight = float(number)
    except ValueError:
        colon = ""
    if not colon or Path(text).exists() or ("," in text and Path(text.rpartition(",")[2]).exists()):
        return CorpusSpec.parse(text, columns, form=form)
    if not 0 < weight < float("inf"):
        raise UsageError(f"--mix {text}: a weight is a number above 0, e.g. {name}:2")
    return CorpusSpec.parse(name, columns, weight, form)


def read_rows(
    spec: CorpusSpec,
    normalise: str = "none",
    references: bool = False,
    hashes: list[FileHash] | None = None,
    uses: list[str] | None = None,
) -> Iterator[Row]:
    """Yield every record in file order; with `references`, further columns are further targets instead of a fault.

    hashes: a list to append the hash of each file to, once it has been read. uses: a list to which the reader appends
    what it takes the two sides from: `column 1 'English'`.
    """
    uses = [] if uses is None else uses
    if spec.format in MEMORIES:
        rows = read_memory(
            spec.files[0], spec.format, spec.columns, references, spec.found[0].encoding, hashes, uses
        )  # fmt: skip
        return in_form(normalised(rows) if normalise == "nfc" else rows, spec.form)
    running = spec.form in ONE_COLUMN  # text for language models, whose long lines are cut anyway
    sides = [
        read_lines(file, normalise, hashes, found.encoding, found.line_end, fold=running)
        for file, found in zip(spec.files, spec.found, strict=True)
    ]
    if spec.format == "lines":
        if spec.form == "labelled":
            return read_labelled(spec.files[0], sides[0], uses)
        return read_text(sides[0], spec.form == "stream")
    references = references and spec.form == "pairs"
    if spec.format == "parallel":
        uses += map(str, spec.files)
        return in_form(read_parallel(spec.files, sides), spec.form)
    if spec.format in ("jsonl", "json"):
        found = spec.found[0]
        array = text_blocks(spec.files[0], hashes, found.encoding, found.line_end)
        records = records_of(sides[0]) if spec.format == "jsonl" else array_elements(array)
        rows = read_records(spec.files[0], records, spec.columns, references, spec.form, uses)
        return in_form(normalised(rows) if normalise == "nfc" else rows, spec.form)
    quotes = spec.format == "csv"
    delimiter = spec.found[0].delimiter or ("," if quotes else TAB)
    found = spec.found[0]
    table = Table(spec.columns, delimiter, quotes, found.header, spec.form, found.spaced, references)
    return in_form(read_table(spec.files[0], sides[0], table, uses), spec.form)


def in_form(rows: Iterator[Row], form: str) -> Iterator[Row]:
    """Turn pairs of cells into the records of a form."""
    return {"pairs": lambda rows: rows, "labelled": label_first, "tagged": check_tags}[form](rows)


def normalised(rows: Iterator[Row]) -> Iterator[Row]:
    """Put the texts of pairs that do not come from lines into NFC."""
    for row in rows:
        if isinstance(row, Pair):
            texts = [unicodedata.normalize("NFC", text) for text in (row.source, *row.targets)]
            yield Pair(row.line, texts[0], tuple(texts[1:]))
        else:
            yield row


def checked_rows(
    spec: CorpusSpec,
    config: DataConfig,
    references: bool = False,
    hashes: list[FileHash] | None = None,
    uses: list[str] | None = None,
) -> Iterator[Row]:
    """Yield `read_rows` with the limit on length: the one place that decides which pairs are used."""
    most = config.max_chars
    for row in read_rows(spec, config.normalise, references, hashes, uses):
        if isinstance(row, Fault) or spec.form in ONE_COLUMN:  # long lines of text are cut, not left out
            yield row
        elif len(row.source) > most or max(map(len, row.targets)) > most:
            longest = max(len(row.source), *map(len, row.targets))
            yield Fault("too long", row.line, f"{longest} characters, data.max_chars = {most}")
        else:
            yield row


def row_chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield some thousand rows at a time, fewer where they are long: enough for all cores, little memory."""
    chunk: list[Row] = []
    chars = 0
    for row in rows:
        chunk.append(row)
        chars += len(row.source) + len(row.targets[0]) if isinstance(row, Pair) else 0
        if len(chunk) >= MOST_ROWS or chars >= MOST_CHARS:
            yield chunk
            chunk, chars = [], 0
    if chunk:
        yield chunk


def usable_pairs(spec: CorpusSpec, config: DataConfig, references: bool = False) -> Iterator[Pair]:
    """Yield exactly the pairs that the doctor counts as kept; a DataError for unequal files: pairs may have shifted."""
    for row in checked_rows(spec, config, references):
        if isinstance(row, Pair):
            yield row
        elif row.kind == "unequal lines":
            raise DataError(f"{spec.name}: the two files differ in length from line {row.line} on: {row.detail}.")
