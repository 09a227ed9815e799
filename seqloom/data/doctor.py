"""The doctor: one streaming pass over a corpus, a report that accounts for every line.

Hard: unequal parallel files, invalid UTF-8, no usable pair, more than 5 % unusable lines unless the loss is allowed,
one label only.
Excluded: missing or extra column, bad quotes, bad JSON, empty side, longer than the limit. Kept: all else.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

import numpy as np

from seqloom.config import DataConfig
from seqloom.data.checks import Characters, Chunk, Copies, Lengths, Scripts, Swaps
from seqloom.data.corpus import CorpusSpec, Fault, Pair, Row, checked_rows
from seqloom.data.findings import MAX_LOSS, UNCOUNTED, Finding, Report
from seqloom.data.forms import FIELDS, LABELS, LINE, ONE_COLUMN
from seqloom.data.label_checks import Labels
from seqloom.data.repeats import Fingerprints, overlap

CHUNK_SIZE = 4096


class Check(Protocol):
    """What looks at the usable pairs, a chunk at a time, and says at the end what it saw."""

    def add(self, chunk: Chunk) -> None: ...
    def findings(self, lines: np.ndarray) -> list[Finding]: ...


def examine(
    spec: CorpusSpec,
    config: DataConfig,
    valid: CorpusSpec | None = None,
    test: CorpusSpec | None = None,
    allow_loss: bool = False,
) -> Report:
    """Everything about one corpus, and what it shares with the valid and test files."""
    report = examine_alone(spec, config, allow_loss)
    compare(report, examine_held_out(config, valid, test, allow_loss))
    return report


def examine_held_out(
    config: DataConfig, valid: CorpusSpec | None, test: CorpusSpec | None, allow_loss: bool = False
) -> dict[str, Report]:
    """The reports of the files that are given, and what they share with each other; their columns are references."""
    given = {name: spec for name, spec in (("valid", valid), ("test", test)) if spec}
    reports = {name: examine_alone(spec, config, allow_loss, references=True) for name, spec in given.items()}
    if len(reports) == 2:
        reports["valid"].findings += overlap(
            reports["valid"].fingerprints, reports["test"].fingerprints, reports["test"].name
        )
    return reports


def compare(report: Report, held_out: dict[str, Report]) -> None:
    """Add to the report what its corpus shares with these files."""
    report.others = held_out
    for other in held_out.values():
        report.findings += overlap(report.fingerprints, other.fingerprints, other.name)


def examine_alone(spec: CorpusSpec, config: DataConfig, allow_loss: bool, references: bool = False) -> Report:
    """The pass itself. `references`: further columns are further targets, as in a file to evaluate on."""
    languages = config.source_lang or spec.languages[0], config.target_lang or spec.languages[1]
    fingerprints, characters = Fingerprints(), Characters()
    checks: list[Check] = [characters, fingerprints]
    labels = Labels(of_texts=spec.form == "labelled") if spec.form in LABELS else None
    if labels:
        checks.append(labels)
    if spec.form == "pairs":
        checks = [Swaps(languages), Scripts(languages), characters, Lengths(), Copies(), fingerprints]
    faults: dict[str, Finding] = {}
    rows = checked_rows(spec, config, references)
    for chunk in chunks(rows, faults):
        for check in checks:
            check.add(chunk)
    lines = fingerprints.column("lines")
    if spec.form == "stream":  # running text repeats lines
        checks = [characters]
    found = [finding for check in checks for finding in check.findings(lines)]
    advise(found, spec)
    report = account(spec, len(lines), faults, allow_loss)
    report.findings += [finding for finding in found if finding.count]
    report.languages, report.unwritable, report.fingerprints = languages, characters.unwritable, fingerprints
    report.labels = labels
    return report


def chunks(rows: Iterator[Row], faults: dict[str, Finding]) -> Iterator[Chunk]:
    """The pairs, some thousand at a time; faults are counted by their kind on the way."""
    while batch := list(islice(rows, CHUNK_SIZE)):
        pairs = [row for row in batch if isinstance(row, Pair)]
        if len(pairs) < len(batch):
            for row in batch:
                if isinstance(row, Fault):
                    faults.setdefault(row.kind, Finding(row.kind)).add(row.line, row.detail)
        if pairs:
            yield Chunk([p.line for p in pairs], [p.source for p in pairs], [p.targets[0] for p in pairs])


def account(spec: CorpusSpec, kept: int, faults: dict[str, Finding], allow_loss: bool) -> Report:
    """kept + unusable = total, and the hard faults that follow from the numbers."""
    unusable = Counter({kind: finding.count for kind, finding in faults.items() if kind not in UNCOUNTED})
    lost = unusable.total()
    findings = list(faults.values())
    if "unequal lines" in faults:
        tell_lengths(spec, faults["unequal lines"], kept + lost)
    if not kept:
        blank = "nothing but blank lines" if "blank line" in faults and not lost else ""
        detail = blank or f"{lost:,} lines, none of them can be used"
        findings.append(Finding("no usable pair", 1, detail=detail))
    elif lost > MAX_LOSS * (kept + lost) and not allow_loss:
        detail = f"{lost / (kept + lost):.1%} of the lines cannot be used; {MAX_LOSS:.0%} may be lost"
        findings.append(Finding("too many unusable", lost, detail=detail))
    advise(findings, spec)
    return Report(spec.name, kept, kept + lost, dict(unusable), findings)


def advise(findings: list[Finding], spec: CorpusSpec) -> None:
    """Advice names only what works for such files."""
    parallel = spec.format == "parallel"
    plain = ", or give plain text a --task of its own (language, masked, denoise)" if spec.form == "pairs" else ""
    words = {
        "{line}": LINE[spec.form],
        "{fields}": FIELDS[spec.form],
        "{drop}": "`doctor --fix OUT` leaves these lines out" if spec.form == "pairs" else "delete these lines",
        "{check}": "" if parallel or spec.form in ONE_COLUMN else f"check the separator and --columns{plain}; ",
        "{exchange}": "exchange the files" if parallel else "--columns 2,1",
    }
    for finding in findings:
        for sign, text in words.items():
            finding.advice = finding.advice.replace(sign, text)


def tell_lengths(spec: CorpusSpec, unequal: Finding, longest: int) -> None:
    """Both counts: the shorter file is the one that lacks the lines."""
    counts = {str(file): longest for file in spec.files}
    missing = unequal.examples[0].rpartition(" in ")[2]
    counts[missing] -= unequal.count
    unequal.detail = ", ".join(f"{file} has {number:,} lines" for file, number in counts.items())
    unequal.examples.clear()
