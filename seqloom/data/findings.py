"""What the doctor found: findings, and the report that accounts for every line.

A finding is hard (training is refused), excluded (these lines are not used), kept (used, but worth a look) or a note.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_LINES = 10  # line numbers told a finding
MAX_EXAMPLES = 3
EXAMPLE_CHARS = 60
MAX_LOSS = 0.05  # a larger share of unusable lines is hard unless it is allowed

HARD, EXCLUDED, KEPT, NOTE = "hard", "excluded", "kept", "note"
SEVERITIES = (HARD, EXCLUDED, KEPT, NOTE)

# kind: (severity, what to do); what stands in braces depends on the corpus: `advise` in data/doctor.py
KINDS: dict[str, tuple[str, str]] = {
    "unequal lines": (HARD, "align the files again: from the missing line on, or before it, pairs may have shifted"),
    "invalid UTF-8": (HARD, "convert it: iconv -f latin1 -t utf-8 IN > OUT; or {drop}"),
    "no usable pair": (HARD, "{check}a line is {line}"),
    "too many unusable": (HARD, "repair the file, or accept the loss with --allow-loss"),
    "labels never repeat": (HARD, "these look like texts. A line is {line}; the other way round: {exchange}"),
    "one label": (HARD, "give lines with other labels too, and check that this column holds the labels"),
    "missing column": (EXCLUDED, "write each line as {line}"),
    "extra column": (EXCLUDED, "say which two to use: --columns 1,2"),
    "bad quotes": (EXCLUDED, 'quote a cell that holds a comma or a quote, and double quotes inside it: "say ""hi"""'),
    "bad JSON": (EXCLUDED, "write one object a line, {fields}"),
    "empty side": (EXCLUDED, "fill in the text or delete the line (in both files)"),
    "ragged tags": (EXCLUDED, "give each word one tag, with one blank between words and between tags"),
    "unknown label": (EXCLUDED, "no line of the training data has it; check the spelling, or train with such lines"),
    "too long": (EXCLUDED, "split it, or raise the limit: data.max_chars (doctor: --max-chars)"),
    "swapped languages": (KEPT, "the whole file looks reversed: exchange the files, or --columns 2,1"),
    "swapped columns": (KEPT, "exchange source and target in these lines"),
    "wrong script": (KEPT, "look at these lines; delete them when they are in another language"),
    "mojibake": (KEPT, "read as a wrong encoding once; decode these lines again from the original"),
    "control character": (KEPT, "remove it, unless the model is to learn it"),
    "length ratio": (KEPT, "check that source and target belong together"),
    "untranslated copy": (KEPT, "translate or delete; a model that sees many copies learns to copy"),
    "duplicate": (KEPT, "delete repeats if they should not weigh more"),
    "many targets": (KEPT, "fine for variety; contradictions blur what is learned"),
    "overlap": (KEPT, "delete these lines from one of the files, else the score flatters the model"),
    "header": (NOTE, "the first row names the columns and is no pair"),
    "blank line": (NOTE, "parts texts and is none"),
}
UNCOUNTED = ("header", "blank line")  # listed, but never a pair to count


@dataclass(slots=True)
class Finding:
    """One kind of thing, how often, and the first lines that have it."""

    kind: str
    count: int = 0
    lines: list[int] = field(default_factory=list)  # the first ones
    detail: str = ""
    examples: list[str] = field(default_factory=list)
    other: str = ""  # overlap: the other file, and its lines
    other_lines: list[int] = field(default_factory=list)
    severity: str = ""
    advice: str = ""

    def __post_init__(self) -> None:
        severity, advice = KINDS[self.kind]
        self.severity, self.advice = self.severity or severity, self.advice or advice

    def add(self, line: int, example: str = "") -> None:
        self.count += 1
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
    """For a terminal: one line, nothing invisible, not too long."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: most + 1])
    return shown if len(text) <= most else shown[: most - 3] + "..."


def show_pair(source: str, target: str) -> str:
    return f"{shorten(source)} | {shorten(target)}"


@dataclass
class Report:
    """kept + unusable = total, always; `others` holds the reports of the valid and test files it was compared with."""

    name: str
    kept: int
    total: int
    unusable: dict[str, int]  # kind -> lines that are no usable pair; sums to total - kept
    findings: list[Finding]
    languages: tuple[str, str] = ("", "")
    unwritable: int = 0  # kept pairs that no TSV line can hold: a tab or a line end inside a text
    others: dict[str, "Report"] = field(default_factory=dict)
    fingerprints: Any = field(default=None, repr=False)
    labels: Any = field(default=None, repr=False)  # of a corpus of labels or tags

    @property
    def hard(self) -> bool:
        return any(f.severity == HARD for f in self.findings) or any(other.hard for other in self.others.values())

    def finding(self, kind: str) -> Finding | None:
        return next((f for f in self.findings if f.kind == kind), None)

    def account(self) -> str:
        """kept 98 of 100 pairs; not used: 1 empty side, 1 missing column"""
        lost = ", ".join(f"{number:,} {kind}" for kind, number in self.unusable.items())
        return f"kept {self.kept:,} of {self.total:,} pairs" + (f"; not used: {lost}" if lost else "")

    def to_json(self) -> dict[str, Any]:
        """Stable keys: corpus, languages [source, target], kept, total, unusable {kind: lines}, hard, findings.

        A finding has kind, severity (hard, excluded, kept, note), count, lines (the first ones), examples and advice;
        where there is more to say also detail; an overlap also other (the file) and other_lines.
        With valid or test files, their reports stand under `valid` and `test`.
        """
        return {
            "corpus": self.name,
            "languages": list(self.languages),
            "kept": self.kept,
            "total": self.total,
            "unusable": self.unusable,
            "hard": self.hard,
            "findings": [finding.to_json() for finding in self.findings],
        } | {name: other.to_json() for name, other in self.others.items()}

    def render(self) -> str:
        """Plain text, the worst first."""
        ordered = sorted(self.findings, key=lambda f: SEVERITIES.index(f.severity))
        lines = [f"{self.name}: {self.account()}", *(finding.render() for finding in ordered)]
        return "\n".join(lines if ordered else [*lines, "  nothing to report"])


def first_lines(lines: Iterable[int]) -> list[int]:
    return sorted(int(line) for line in lines)[:MAX_LINES]
