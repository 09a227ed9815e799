"""What became of the records of some files: kept N of M, the others by reason. No pair is left out in silence."""

from dataclasses import dataclass, field

from seqloom.data.lines import Fault

FIRST = 20  # places named for each reason; excluded.tsv names all


@dataclass
class Account:
    total: int = 0
    kept: int = 0
    excluded: dict[str, int] = field(default_factory=dict)  # reason -> how many
    first: dict[str, list[tuple[str, int]]] = field(default_factory=dict)  # reason -> the first (file, line)s

    def keep(self, number: int) -> None:
        self.total += number
        self.kept += number

    def exclude(self, file: str, fault: Fault) -> None:
        self.total += 1
        self.excluded[fault.kind] = self.excluded.get(fault.kind, 0) + 1
        places = self.first.setdefault(fault.kind, [])
        if len(places) < FIRST:
            places.append((file, fault.line))

    def render(self) -> str:
        """`kept 97 of 100 pairs`, and a line for each reason with its count and first lines."""
        lines = [f"kept {self.kept:,} of {self.total:,} pairs"]
        several = len({file for places in self.first.values() for file, _ in places}) > 1
        for reason, count in sorted(self.excluded.items(), key=lambda entry: (-entry[1], entry[0])):
            places = [f"{file}:{line}" if several else str(line) for file, line in self.first[reason]]
            more = ", ..." if count > len(places) else ""
            lines.append(f"  left out, {reason}: {count:,} (line{'s' * (count > 1)} {', '.join(places)}{more})")
        return "\n".join(lines)
