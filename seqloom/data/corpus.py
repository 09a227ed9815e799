"""A corpus by its name: file.tsv | file.csv | file.jsonl | source.txt,target.txt (each also .gz) | - (TSV on stdin).

What a record of it is, a pair or a label and a text or a line of text, is its `form` (data/forms.py).

`read_rows` gives every record as a Pair or a Fault; `usable_pairs` the pairs that training uses, which are exactly
those that the doctor counts as kept. Both stream, in file order.
"""

import filecmp
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data import languages
from seqloom.data.forms import LINE, ONE_COLUMN, check_tags, label_first, read_labelled, read_text
from seqloom.data.jsonl import read_jsonl
from seqloom.data.lines import BLOCK_SIZE, STDIN, Fault, check_file, open_bytes, read_lines
from seqloom.data.quoted import read_csv
from seqloom.data.readers import Columns, Pair, Row, read_parallel, read_tsv
from seqloom.errors import DataError, UsageError

__all__ = [
    "CorpusSpec",
    "Fault",
    "Pair",
    "Row",
    "parse_mix",
    "read_rows",
    "spool_stdin",
    "usable_pairs",
]

FORMATS = {
    ".tsv": "tsv", ".tab": "tsv", ".txt": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
READERS = {"tsv": read_tsv, "csv": read_csv, "jsonl": read_jsonl}
PAIRS = "file.tsv, file.csv, file.jsonl or source.txt,target.txt (each also .gz)"


@dataclass(frozen=True)
class CorpusSpec:
    """Where pairs are and how to read them; `name` is what the user wrote."""

    name: str
    files: tuple[Path, ...]  # one, or two parallel ones
    format: str  # tsv, csv, jsonl, parallel, lines
    columns: Columns = ()  # names or numbers from 1: source, target, further references
    weight: float = 1.0
    form: str = "pairs"  # pairs, labelled, tagged, text, stream

    @classmethod
    def parse(
        cls, text: str, columns: str | Sequence[str] | None = None, weight: float = 1.0, form: str = "pairs"
    ) -> "CorpusSpec":
        """A UsageError when a file is missing, the format cannot be told or the columns make no sense."""
        chosen = parse_columns(columns)
        files = split_files(text)
        for file in files:
            check_file(file)
        if form in ONE_COLUMN:
            return cls.parse_text(text, files, chosen, weight, form)
        if form == "labelled" and len(files) == 1 and not chosen and tells_no_table(files[0]):
            return cls(text, files, "lines", (), weight, form)
        if len(files) == 2 and chosen:
            raise UsageError(f"{text}: --columns is for one file of several columns, not for two parallel files.")
        return cls(text, files, "parallel" if len(files) == 2 else format_of(files[0]), chosen, weight, form)

    @classmethod
    def parse_text(cls, text: str, files: tuple[Path, ...], columns: Columns, weight: float, form: str) -> "CorpusSpec":
        """Plain text: one file, all of each line."""
        if len(files) > 1:
            raise UsageError(f"{text}: this task reads plain text, one file. More of it: --mix FILE")
        if columns:
            raise UsageError(
                f"--columns {','.join(columns)}: this task reads plain text, whole lines. Cut the column out."
            )
        return cls(text, files, "lines", (), weight, form)

    @property
    def languages(self) -> tuple[str, str]:
        """(source, target) as the names tell them: a.en,a.fr or corpus.en-fr.tsv or columns en,fr; else ("", "")."""
        names = [file.name.removesuffix(".gz") for file in self.files]
        if len(names) == 2:
            return languages.of_pair(names[0], names[1])
        return (
            languages.of_columns(self.columns)
            if any(languages.of_columns(self.columns))
            else languages.of_file(names[0])
        )


def tells_no_table(file: Path) -> bool:
    """By the name, which tells no format, or .txt: the lines themselves tell where a label ends, as they are read."""
    ending = Path(file.name.removesuffix(".gz")).suffix.lower()
    return FORMATS.get(ending, "tsv") == "tsv" and ending not in (".tsv", ".tab", ".json")


def parse_columns(columns: str | Sequence[str] | None) -> Columns:
    names = columns.split(",") if isinstance(columns, str) else list(columns or ())
    chosen = tuple(name.strip() for name in names)
    if chosen and (len(chosen) < 2 or len(set(chosen)) < len(chosen) or not all(chosen) or "0" in chosen):
        raise UsageError(
            f"--columns {','.join(chosen)}: want two or more, numbers from 1 or names: 1,2 or source,target"
        )
    return chosen


def split_files(text: str) -> tuple[Path, ...]:
    """One path or two; a comma may also stand inside a file's name, so what exists decides."""
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


def format_of(file: Path) -> str:
    """By the name; a name that tells nothing is read as TSV when its first line has a tab."""
    ending = Path(file.name.removesuffix(".gz")).suffix.lower()
    if file == STDIN:
        return "tsv"
    if ending in FORMATS:
        return FORMATS[ending]
    with open_bytes(file) as stream:
        head = stream.read(BLOCK_SIZE)
    if ending == ".json":
        if head.lstrip()[:1] == b"[":
            raise UsageError(f"{file}: a JSON array; want one object a line: `jq -c '.[]' {file} > pairs.jsonl`")
        return "jsonl"
    if head and b"\t" not in head.partition(b"\n")[0]:
        raise UsageError(
            f"{file}: the name does not tell the format and line 1 has no tab. PAIRS = {PAIRS}. "
            f"If this is one side of a corpus, name both: {file},TARGET"
        )
    return "tsv"


def parse_mix(text: str, columns: str | Sequence[str] | None = None, form: str = "pairs") -> CorpusSpec:
    """`PAIRS:2` is a corpus of weight 2; without a number the weight is 1. A file whose name ends in :2 goes first."""
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


def spool_stdin(
    folder: Path, columns: str | Sequence[str] | None = None, started: bool = False, form: str = "pairs"
) -> CorpusSpec:
    """Standard input, copied to a file in the folder so that it can be read again; it appears whole or not at all.

    `started`: a run in this folder goes on with the file that is there, whose pairs need not be piped in again.
    """
    file = folder / ("stdin.txt" if form == "labelled" else "stdin.tsv")  # a label may also stand before a blank
    goes_on = started and file.is_file()
    if sys.stdin is not None and not sys.stdin.isatty():
        new = file.with_name(f"{file.name}.new")
        try:
            copy_stdin(new)
            empty = not new.stat().st_size
            if empty and file.is_file() and not started:  # by a run that was stopped early: worth more than nothing
                raise UsageError("-: standard input is empty; pipe the pairs into it again.")
            if not goes_on:
                new.replace(file)
            elif not empty and not filecmp.cmp(new, file, shallow=False):
                raise UsageError(
                    f"-: standard input holds other pairs than {file}, with which this run was started. "
                    "Pipe the same in, or nothing to go on with that file, or choose another --out."
                )
        finally:
            new.unlink(missing_ok=True)
    elif not goes_on:
        raise UsageError(f"-: standard input is the keyboard; pipe a file into it, each line {LINE[form]}")
    return CorpusSpec.parse(str(file), columns, form=form)


def copy_stdin(file: Path) -> None:
    with open_bytes(STDIN) as stream, file.open("wb") as out:
        while chunk := stream.read(BLOCK_SIZE):
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())


def read_rows(spec: CorpusSpec, normalise: str = "none", references: bool = False) -> Iterator[Row]:
    """Every record in file order; with `references`, further columns are further targets instead of a fault."""
    if spec.format == "lines":
        lines = read_lines(spec.files[0], normalise)
        if spec.form == "labelled":
            return read_labelled(spec.files[0], lines)
        return read_text(lines, spec.form == "stream")
    if spec.format == "parallel":
        rows = read_parallel(spec.files[0], spec.files[1], normalise)
    elif spec.format == "jsonl":
        rows = read_jsonl(spec.files[0], spec.columns, references and spec.form == "pairs", normalise, spec.form)
    else:
        rows = READERS[spec.format](spec.files[0], spec.columns, references and spec.form == "pairs", normalise)
    return {"pairs": lambda rows: rows, "labelled": label_first, "tagged": check_tags}[spec.form](rows)


def checked_rows(spec: CorpusSpec, config: DataConfig, references: bool = False) -> Iterator[Row]:
    """`read_rows` with the limit on length: the one place that says which pairs are used."""
    most = config.max_chars
    for row in read_rows(spec, config.normalise, references):
        if isinstance(row, Fault) or spec.form in ONE_COLUMN:  # long lines of text are cut, not left out
            yield row
        elif len(row.source) > most or max(map(len, row.targets)) > most:
            longest = max(len(row.source), *map(len, row.targets))
            yield Fault("too long", row.line, f"{longest} characters, data.max_chars = {most}")
        else:
            yield row


def usable_pairs(spec: CorpusSpec, config: DataConfig, references: bool = False) -> Iterator[Pair]:
    """Exactly the pairs that the doctor counts as kept; unequal files are refused, as pairs may have shifted."""
    for row in checked_rows(spec, config, references):
        if isinstance(row, Pair):
            yield row
        elif row.kind == "unequal lines":
            raise DataError(f"{spec.name}: the two files differ in length from line {row.line} on: {row.detail}.")
