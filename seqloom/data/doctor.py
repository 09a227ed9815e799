"""The doctor: one streaming pass over a corpus and a report that accounts for every line.

Hard: unequal parallel files, invalid UTF-8, no usable pair, more than 5 % unusable lines unless the loss is allowed,
only one label.
Excluded: missing or extra column, bad quotes, bad JSON, empty side, longer than the limit. Kept: everything else.

The same pass hashes the files and passes the usable pairs to `watchers`, so that training reads its input only once
more, to encode it.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from seqloom.config import DataConfig
from seqloom.data.checks import Characters, Chunk, Copies, Lengths, Scripts, Swaps
from seqloom.data.corpus import MEMORIES, CorpusSpec, Fault, Pair, Row, checked_rows, row_chunks
from seqloom.data.findings import MAX_LOSS, UNCOUNTED, Finding, Report
from seqloom.data.forms import FIELDS, LABELS, LINE, ONE_COLUMN
from seqloom.data.label_checks import Labels
from seqloom.data.lines import FileHash
from seqloom.data.read_as import ReadAs
from seqloom.data.reading_words import column_advice, encoding_advice, reading_in_words, xml_advice
from seqloom.data.repeats import Fingerprints, overlap

Watcher = Callable[[Chunk], None]  # receives the usable pairs in file order, chunk by chunk


class Check(Protocol):
    """Looks at the usable pairs, chunk by chunk, and returns at the end what it found."""

    def add(self, chunk: Chunk) -> None: ...
    def findings(self, lines: np.ndarray) -> list[Finding]: ...


def examine(
    spec: CorpusSpec,
    config: DataConfig,
    valid: CorpusSpec | None = None,
    test: CorpusSpec | None = None,
    allow_loss: bool = False,
) -> Report:
    """Examine one corpus, alone and against the valid and test files."""
    report = examine_alone(spec, config, allow_loss)
    compare(report, examine_held_out(config, valid, test, allow_loss))
    return report


def examine_held_out(
    config: DataConfig, valid: CorpusSpec | None, test: CorpusSpec | None, allow_loss: bool = False
) -> dict[str, Report]:
    """Examine the files that are given, and what they share with each other; their further columns are references."""
    given = {name: spec for name, spec in (("valid", valid), ("test", test)) if spec}
    reports = {name: examine_alone(spec, config, allow_loss, references=True) for name, spec in given.items()}
    if len(reports) == 2:
        reports["valid"].findings += overlap(
            reports["valid"].fingerprints, reports["test"].fingerprints, reports["test"].name
        )
    return reports


def compare(report: Report, held_out: dict[str, Report]) -> None:
    """Add to the report which sources its corpus shares with these files."""
    report.others = held_out
    for other in held_out.values():
        report.findings += overlap(report.fingerprints, other.fingerprints, other.name)


def examine_alone(
    spec: CorpusSpec,
    config: DataConfig,
    allow_loss: bool,
    references: bool = False,
    watchers: Sequence[Watcher] = (),
) -> Report:
    """Make the pass over one corpus.

    references: further columns are further targets, as in a file to evaluate on.
    """
    languages = config.source_lang or spec.languages[0], config.target_lang or spec.languages[1]
    fingerprints, characters = Fingerprints(), Characters()
    checks: list[Check] = [characters, fingerprints]
    labels = Labels(of_texts=spec.form == "labelled") if spec.form in LABELS else None
    if labels:
        checks.append(labels)
    if spec.form == "pairs":
        checks = [Swaps(languages), Scripts(languages), characters, Lengths(), Copies(), fingerprints]
    faults: dict[str, Finding] = {}
    hashes: list[FileHash] = []
    uses: list[str] = []
    first: Chunk | None = None
    read = Counter[str]()
    for chunk in chunks(checked_rows(spec, config, references, hashes, uses), faults, read):
        first = first or chunk
        for check in checks:
            check.add(chunk)
        for watch in watchers:
            watch(chunk)
    lines = fingerprints.column("lines")
    if spec.form == "stream":  # running text repeats lines
        checks = [characters]
    found = [finding for check in checks for finding in check.findings(lines)]
    advise(found, spec)
    report = account(spec, len(lines), faults, allow_loss)
    report.findings += [finding for finding in found if finding.count]
    report.languages, report.unwritable, report.fingerprints = languages, characters.unwritable, fingerprints
    report.labels, report.hashes, report.chunks = labels, tuple(hashes), read["chunks"]
    report.reads = reading_in_words(spec, uses, first)
    return report


def chunks(rows: Iterator[Row], faults: dict[str, Finding], read: Counter[str]) -> Iterator[Chunk]:
    """Yield the pairs, some thousand at a time, and count the faults by their kind; read: counts the chunks."""
    start = 0
    for batch in row_chunks(rows):
        read["chunks"] += 1
        pairs = [row for row in batch if isinstance(row, Pair)]
        if len(pairs) < len(batch):
            for row in batch:
                if isinstance(row, Fault):
                    faults.setdefault(row.kind, Finding(row.kind)).add(row.line, row.detail)
        if pairs:
            yield Chunk([p.line for p in pairs], [p.source for p in pairs], [p.targets[0] for p in pairs], start)
            start += len(pairs)


def account(spec: CorpusSpec, kept: int, faults: dict[str, Finding], allow_loss: bool) -> Report:
    """Make the report: kept + unusable = total, and the hard faults that follow from these numbers."""
    unusable = Counter({kind: finding.count for kind, finding in faults.items() if kind not in UNCOUNTED})
    lost = unusable.total()
    findings = list(faults.values())
    if "unequal lines" in faults:
        name_lengths(spec, faults["unequal lines"], kept + lost)
    if not kept:
        blank = "only blank lines" if "blank line" in faults and not lost else ""
        detail = blank or f"{lost:,} lines, and none of them can be used"
        findings.append(Finding("no usable pair", 1, detail=detail))
    elif lost > MAX_LOSS * (kept + lost) and not allow_loss:
        detail = f"{lost / (kept + lost):.1%} of the lines cannot be used; {MAX_LOSS:.0%} may be lost"
        findings.append(Finding("too many unusable", lost, detail=detail))
    advise(findings, spec)
    return Report(spec.name, kept, kept + lost, dict(unusable), findings)


def advise(findings: list[Finding], spec: CorpusSpec) -> None:
    """Fill in the advice of the findings with what works for such files."""
    parallel = spec.format == "parallel"
    plain = ", or give plain text a --task of its own (language, masked, denoise)" if spec.form == "pairs" else ""
    words = {
        "{line}": LINE[spec.form],
        "{fields}": FIELDS[spec.form],
        "{drop}": "`doctor --fix OUT` leaves these lines out" if spec.form == "pairs" else "delete these lines",
        "{check}": ""
        if parallel or spec.format in MEMORIES or spec.form in ONE_COLUMN
        else f"check the separator and --columns{plain}; ",
        "{exchange}": "exchange the files" if parallel else "--columns 2,1",
    }
    later = {"{encoding}": encoding_advice, "{xml}": xml_advice, "{extra}": column_advice}  # these look at the files
    for sign, advice in later.items():
        if any(sign in finding.advice for finding in findings):
            words = {sign: advice(spec), **words}
    for finding in findings:
        for sign, text in words.items():
            finding.advice = finding.advice.replace(sign, text)


def name_lengths(spec: CorpusSpec, unequal: Finding, longest: int) -> None:
    """Write both numbers of lines into the finding: the shorter file is the one that lacks lines."""
    counts = {str(file): longest for file in spec.files}
    missing = unequal.examples[0].rpartition(" in ")[2]
    counts[missing] -= unequal.count
    unequal.detail = ", ".join(f"{file} has {number:,} lines" for file, number in counts.items())
    unequal.examples.clear()


def doctor_command(names: Sequence[str], valid: str | None, read_as: ReadAs, task: str) -> str:
    """Return the command that shows every finding of these files, read as this task reads them."""
    words = [*names, *(["--valid", valid] if valid else []), *read_as.options()]
    words += ["--task", task] if task != "translate" else []
    return f"seqloom doctor {shlex.join(words)}"
