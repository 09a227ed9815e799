"""`doctor --fix OUT`: the usable pairs as a clean file, and OUT.report.tsv with every line that was left out.

OUT.tsv holds one pair a line; OUT.jsonl holds {"source": ..., "target": ...} and so also texts with a tab or a line
end, which TSV cannot hold: they are never altered, a TSV is refused instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, Pair, checked_rows
from seqloom.data.findings import Report, shorten
from seqloom.errors import DataError, UsageError

WRITERS = {
    ".tsv": lambda pair: f"{pair.source}\t{pair.target}\n".encode(),
    ".jsonl": lambda pair: msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n",
}


def report_file(out: Path) -> Path:
    return out.with_name(out.name + ".report.tsv")


def check_repair(spec: CorpusSpec, out: Path) -> None:
    """What can be said before reading: OUT has a known ending, is new, and its folder is there."""
    if out.suffix not in WRITERS:
        raise UsageError(f"--fix {out}: want a name that ends in .tsv or .jsonl")
    if not out.parent.is_dir():
        raise UsageError(f"--fix {out}: there is no folder {out.parent}")
    for file in (out, report_file(out)):
        if file.exists():
            raise UsageError(f"--fix {out}: {file} exists; choose another name or delete it.")


def write_repaired(spec: CorpusSpec, config: DataConfig, report: Report, out: Path) -> None:
    """Both files, or neither; a second pass over the corpus."""
    check_repair(spec, out)
    if report.finding("unequal lines"):
        raise DataError(f"--fix {out}: not written. Nobody can tell where files of unequal length went apart.")
    if not report.kept:
        raise DataError(f"--fix {out}: not written. {spec.name} has no usable pair.")
    if report.unwritable and out.suffix == ".tsv":
        raise UsageError(
            f"--fix {out}: not written. {report.unwritable:,} texts hold a tab or a line end, which TSV cannot; "
            f"use --fix {out.with_suffix('.jsonl')}"
        )
    encode = WRITERS[out.suffix]
    with whole_file(out) as good, whole_file(report_file(out)) as rest:
        rest.write(b"line\tkind\tdetail\n")
        for row in checked_rows(spec, config):
            if isinstance(row, Pair):
                good.write(encode(row))
            else:
                rest.write(f"{row.line}\t{row.kind}\t{shorten(row.detail, 200)}\n".encode())


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears when it is complete, and leaves nothing behind when writing fails."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
