"""The account of the records of some files: kept N of M, the others counted by reason, so that none is lost unseen."""

from dataclasses import dataclass, field

from seqloom.data.findings import shorten
from seqloom.data.lines import Fault

FIRST = 20  # places shown per reason; excluded.tsv has all of them


@dataclass
class Account:
    total: int = 0
    kept: int = 0
    excluded: dict[str, int] = field(default_factory=dict)  # reason -> how many
    first: dict[str, list[tuple[str, int]]] = field(default_factory=dict)  # reason -> the first (file, line)s
    details: dict[str, str] = field(default_factory=dict)  # reason -> what the first of these lines holds
    cut: int = 0  # lines of plain text that were longer than data.max_tokens; all of their parts are kept

    def keep(self, number: int) -> None:
        self.total += number
        self.kept += number

    def exclude(self, file: str, fault: Fault) -> None:
        self.total += 1
        self.excluded[fault.kind] = self.excluded.get(fault.kind, 0) + 1
        places = self.first.setdefault(fault.kind, [])
        if len(places) < FIRST:
            places.append((file, fault.line))
        self.details.setdefault(fault.kind, shorten(fault.detail))

    def add(self, other: "Account") -> None:
        """Add the account of further files."""
        self.total, self.kept, self.cut = self.total + other.total, self.kept + other.kept, self.cut + other.cut
        for reason, count in other.excluded.items():
            self.excluded[reason] = self.excluded.get(reason, 0) + count
            places = self.first.setdefault(reason, [])
            places += other.first[reason][: FIRST - len(places)]
        self.details = other.details | self.details

    def render(self) -> str:
        """Render `kept 97 of 100 pairs`, and one line per reason with its count, first lines and first example."""
        lines = [f"kept {self.kept:,} of {self.total:,} pairs"]
        if self.cut:
            lines.append(f"  longer than data.max_tokens, so cut between words: {self.cut:,} (every part is used)")
        several = len({file for places in self.first.values() for file, _ in places}) > 1
        for reason, count in sorted(self.excluded.items(), key=lambda entry: (-entry[1], entry[0])):
            places = [f"{file}:{line}" if several else str(line) for file, line in self.first[reason]]
            more = ", ..." if count > len(places) else ""
            detail = f"{': ' if count == 1 else '; the first: '}{found}" if (found := self.details.get(reason)) else ""
            lines.append(f"  left out, {reason}: {count:,} (line{'s' * (count > 1)} {', '.join(places)}{more}){detail}")
        return "\n".join(lines)
