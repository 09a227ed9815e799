"""`doctor --fix OUT`: write the pairs without a finding into a clean file, and every other line into OUT.report.tsv.

What the doctor flags is never written: lines that it excludes, and those that it keeps with a finding. Of repeats
the first is written. Lines whose columns are swapped are written the right way round, and listed too.

OUT.tsv holds one pair per line; OUT.jsonl holds {"source": ..., "target": ...} and so also texts with a tab or a line
end, which TSV cannot hold: they are never altered, a TSV is refused instead.
"""

from pathlib import Path

import msgspec

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, Pair, checked_rows
from seqloom.data.findings import KEPT, Report, shorten, show_pair
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import new_file

SWAPPED = "swapped columns"
WRITERS = {
    ".tsv": lambda pair: f"{pair.source}\t{pair.target}\n".encode(),
    ".jsonl": lambda pair: msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n",
}


def report_file(out: Path) -> Path:
    return out.with_name(out.name + ".report.tsv")


def check_repair(spec: CorpusSpec, out: Path) -> None:
    """Check before reading that OUT has a known ending, does not exist, and its folder does."""
    if out.suffix not in WRITERS:
        raise UsageError(f"--fix {out}: want a name that ends in .tsv or .jsonl")
    if not out.parent.is_dir():
        raise UsageError(f"--fix {out}: there is no folder {out.parent}")
    for file in (out, report_file(out)):
        if file.exists():
            raise UsageError(f"--fix {out}: {file} exists; choose another name or delete it.")


def write_repaired(spec: CorpusSpec, config: DataConfig, report: Report, out: Path) -> int:
    """Write both files or neither, in a second pass over the corpus; return the number of pairs written."""
    check_repair(spec, out)
    flagged = flagged_pairs(report)
    refuse_hopeless(spec, report, flagged, out)
    encode = WRITERS[out.suffix]
    place = written = 0
    with new_file(out) as good, new_file(report_file(out)) as rest:
        rest.write(b"line\tkind\tdetail\n")
        for row in checked_rows(spec, config):
            if isinstance(row, Pair):
                kind = flagged.get(place, "")
                place += 1
                if kind == SWAPPED:
                    row = Pair(row.line, row.target, (row.source,))
                if kind in ("", SWAPPED):
                    good.write(encode(row))
                    written += 1
                if kind:
                    detail = "exchanged and written" if kind == SWAPPED else show_pair(row.source, row.target)
                    rest.write(f"{row.line}\t{kind}\t{detail}\n".encode())
            else:
                rest.write(f"{row.line}\t{row.kind}\t{shorten(row.detail, 200)}\n".encode())
    return written


def flagged_pairs(report: Report) -> dict[int, str]:
    """Return which of the usable pairs have a finding: place -> kind. Another kind hides that a line is swapped."""
    findings = sorted(
        (finding for finding in report.findings if finding.severity == KEPT), key=lambda one: one.kind != SWAPPED
    )
    return {place: finding.kind for finding in findings for place in finding.places}


def refuse_hopeless(spec: CorpusSpec, report: Report, flagged: dict[int, str], out: Path) -> None:
    """Raise an error where no clean file can be written."""
    if report.finding("unequal lines"):
        raise DataError(
            f"--fix {out}: not written. The files differ in length, and it is not known where they diverge."
        )
    if reversed_file := report.finding("swapped languages"):
        raise DataError(f"--fix {out}: not written. {reversed_file.detail}: {reversed_file.advice}.")
    if not report.kept:
        raise DataError(f"--fix {out}: not written. {spec.name} has no usable pair.")
    if all(flagged.get(place, SWAPPED) != SWAPPED for place in range(report.kept)):
        raise DataError(f"--fix {out}: not written. Every pair of {spec.name} has a finding.")
    if report.unwritable and out.suffix == ".tsv":
        raise UsageError(
            f"--fix {out}: not written. {report.unwritable:,} texts hold a tab or a line end, which TSV cannot; "
            f"use --fix {out.with_suffix('.jsonl')}"
        )
