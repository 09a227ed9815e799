"""The doctor's findings, and the report that accounts for every line.

A finding is hard (`train` refuses the data), excluded (these lines are not used), kept (used, but worth a look) or a
note.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from seqloom.data.lines import FileHash

MAX_LINES = 10  # line numbers shown per finding
MAX_EXAMPLES = 3
EXAMPLE_CHARS = 60
MAX_LOSS = 0.05  # a larger share of unusable lines is hard unless it is allowed

HARD, EXCLUDED, KEPT, NOTE = "hard", "excluded", "kept", "note"
SEVERITIES = (HARD, EXCLUDED, KEPT, NOTE)

# kind: (severity, what to do); words in braces depend on the corpus: `advise` in data/doctor.py
KINDS: dict[str, tuple[str, str]] = {
    "unequal lines": (
        HARD,
        "align the files again: pairs may have shifted from the missing line on, or before it",
    ),
    "invalid UTF-8": (HARD, "{encoding}"),
    "invalid bytes": (HARD, "check --encoding, or {drop}"),
    "bad XML": (HARD, "{xml}"),
    "broken array": (HARD, "repair the file, or export it again"),
    "no usable pair": (HARD, "{check}a line is {line}"),
    "too many unusable": (HARD, "repair the file, or accept the loss with --allow-loss"),
    "labels never repeat": (HARD, "these look like texts. Write each line as {line}; {exchanged}: {exchange}"),
    "one label": (HARD, "give lines with other labels too, and check that this column holds the labels"),
    "missing column": (EXCLUDED, "write each line as {line}"),
    "extra column": (EXCLUDED, "{extra}"),
    "missing language": (EXCLUDED, "choose two languages that nearly all units have: --columns en,fr"),
    "bad quotes": (EXCLUDED, 'quote a cell that holds a comma or a quote, and double quotes inside it: "say ""hi"""'),
    "bad JSON": (EXCLUDED, "write one object per line, {fields}"),
    "empty side": (EXCLUDED, "fill in the text or delete the line (in both files)"),
    "ragged tags": (EXCLUDED, "give each word one tag, with one space between words and between tags"),
    "unknown label": (
        EXCLUDED,
        "no training line has this label; check the spelling, or train with such lines",
    ),
    "endless line": (
        EXCLUDED,
        "check that lines end with a line feed, or split them: fold -s -w 10000 FILE",
    ),
    "too long": (EXCLUDED, "split it, or raise the limit: data.max_chars (doctor: --max-chars)"),
    "swapped languages": (KEPT, "the whole file looks reversed: exchange the files, or --columns 2,1"),
    "swapped columns": (KEPT, "exchange source and target in these lines"),
    "wrong script": (KEPT, "look at these lines; delete them when they are in another language"),
    "mojibake": (KEPT, "these lines were decoded with a wrong encoding; decode them again from the original"),
    "HTML entity": (KEPT, "write the characters themselves: & instead of &amp; (Python: html.unescape)"),
    "control character": (KEPT, "remove it, unless the model should learn it"),
    "length ratio": (KEPT, "check that source and target belong together"),
    "untranslated copy": (KEPT, "translate or delete; a model that sees many copies learns to copy"),
    "duplicate": (KEPT, "delete repeats if they should not weigh more"),
    "overlap": (KEPT, "delete these lines from one of the files, otherwise the score is too high"),
    "many targets": (NOTE, "fine for variety; contradictory targets make learning harder"),
    "tab or line end": (NOTE, "inside a text; fine, but a TSV file cannot hold it"),
    "separator line": (NOTE, "the first line tells Excel what separates the columns; not counted as a pair"),
    "header": (NOTE, "the first row names the columns; not counted as a pair"),
    "blank line": (NOTE, "separates texts; not counted as one"),
}
UNCOUNTED = ("header", "separator line", "blank line")  # listed, but not counted as a pair


@dataclass(slots=True)
class Finding:
    """One kind of finding: how often it occurs, and the first lines that have it."""

    kind: str
    count: int = 0
    lines: list[int] = field(default_factory=list)  # the first ones
    detail: str = ""
    examples: list[str] = field(default_factory=list)
    other: str = ""  # overlap: the other file, and its lines
    other_lines: list[int] = field(default_factory=list)
    severity: str = ""
    advice: str = ""
    places: "array[int]" = field(default_factory=lambda: array("q"), repr=False)  # all of them, among the usable pairs

    def __post_init__(self) -> None:
        severity, advice = KINDS[self.kind]
        self.severity, self.advice = self.severity or severity, self.advice or advice

    def add(self, line: int, example: str = "", place: int | None = None) -> None:
        self.count += 1
        if place is not None:
            self.places.append(place)
        if len(self.lines) < MAX_LINES:
            self.lines.append(line)
        if example and len(self.examples) < MAX_EXAMPLES:
            self.examples.append(f"line {line}: {example}")

    def to_json(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in ("kind", "severity", "count", "lines", "examples", "advice")}
        more = {name: getattr(self, name) for name in ("detail", "other", "other_lines") if getattr(self, name)}
        return shown | more

    def render(self) -> str:
        lines = ", ".join(map(str, self.lines)) + (", ..." if self.count > len(self.lines) else "")
        where = f"  line{'s' * (self.count > 1)} {lines}" if self.lines else ""
        parts = [f"  {self.severity:<9}{self.kind:<18}{self.count:>9,}{where}"]
        if self.detail:
            parts.append(self.detail)
        return "\n            ".join([*parts, *self.examples, f"-> {self.advice}"])


def shorten(text: str, most: int = EXAMPLE_CHARS) -> str:
    """Make a text fit for a terminal: one line, only visible characters, not too long."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: most + 1])
    return shown if len(text) <= most else shown[: most - 3] + "..."


def show_pair(source: str, target: str) -> str:
    return f"{shorten(source)} | {shorten(target)}"


@dataclass
class Report:
    """The report on one corpus: kept + unusable = total.

    `others` holds the reports of the valid and test files that it was compared with.
    """

    name: str
    kept: int
    total: int
    unusable: dict[str, int]  # kind -> number of unusable lines; sums to total - kept
    findings: list[Finding]
    languages: tuple[str, str] = ("", "")
    unwritable: int = 0  # kept pairs that a TSV line cannot hold: a tab or a line end inside a text
    reads: str = ""  # what the file is, and what source and target are taken from
    others: dict[str, "Report"] = field(default_factory=dict)
    fingerprints: Any = field(default=None, repr=False)
    labels: Any = field(default=None, repr=False)  # the labels or tags of a corpus that has them
    hashes: tuple[FileHash, ...] = field(default=(), repr=False)  # of the corpus's files, as this pass read them
    chunks: int = 0  # in which this pass read the corpus

    @property
    def hard(self) -> bool:
        return any(f.severity == HARD for f in self.findings) or any(other.hard for other in self.others.values())

    def finding(self, kind: str) -> Finding | None:
        return next((f for f in self.findings if f.kind == kind), None)

    def account(self) -> str:
        """Account for the lines: `kept 98 of 100 pairs; not used: 1 empty side, 1 missing column`."""
        lost = ", ".join(f"{number:,} {kind}" for kind, number in self.unusable.items())
        return f"kept {self.kept:,} of {self.total:,} pairs" + (f"; not used: {lost}" if lost else "")

    def to_json(self) -> dict[str, Any]:
        """Return stable keys: corpus, languages, reads, kept, total, unusable, hard, findings.

        languages is [source, target]; reads says in words how the file is read; unusable is {kind: lines}.

        A finding has kind, severity (hard, excluded, kept, note), count, lines (the first ones), examples and advice;
        where there is more to report also detail; an overlap also other (the file) and other_lines.
        The reports of valid and test files are under `valid` and `test`.
        """
        return {
            "corpus": self.name,
            "languages": list(self.languages),
            "reads": self.reads,
            "kept": self.kept,
            "total": self.total,
            "unusable": self.unusable,
            "hard": self.hard,
            "findings": [finding.to_json() for finding in self.findings],
        } | {name: other.to_json() for name, other in self.others.items()}

    def render(self) -> str:
        """Render the report as plain text, the worst findings first."""
        ordered = sorted(self.findings, key=lambda f: SEVERITIES.index(f.severity))
        lines = [f"{self.name}: {self.account()}", *([f"  reads    {self.reads}"] if self.reads else [])]
        lines += [finding.render() for finding in ordered]
        return "\n".join(lines if ordered else [*lines, "  nothing to report"])


def first_lines(lines: Iterable[int]) -> list[int]:
    return sorted(int(line) for line in lines)[:MAX_LINES]
