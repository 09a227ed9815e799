"""What a file to evaluate on holds: its usable records, an account of the others, and outputs beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.config import TASKS, DataConfig
from seqloom.data.corpus import CorpusSpec, Pair, checked_rows
from seqloom.data.doctor import account, doctor_command
from seqloom.data.findings import Finding
from seqloom.data.lines import whole_lines
from seqloom.data.reading_words import is_plain, reading_in_words
from seqloom.errors import DataError
from seqloom.metrics.testset import Item, merge_sources

Say = Callable[[str], None]
NO_RECORDS = ("header", "separator line")  # faults that take no place; a blank line has one: so it has in `cut -f1`


@dataclass(frozen=True)
class Records:
    """The usable records of a file, how many others there are for which reason, and the place of each in the file."""

    name: str
    pairs: list[Pair]
    excluded: dict[str, int]
    places: list[int]  # of each pair among all records, from 0; lines do not count records: a cell may hold a line end
    total: int  # records, also those that are not used

    @property
    def items(self) -> list[Item]:
        """The test items: each source once, with all its references."""
        return merge_sources((pair.line, pair.source, pair.targets) for pair in self.pairs)

    def beside(self, outputs: Sequence[str]) -> list[str]:
        """One output per record, from one per pair; an unused record has an empty one. Line ends become spaces."""
        found = [""] * self.total
        for place, text in zip(self.places, outputs, strict=True):
            found[place] = " ".join(text.splitlines())
        return found

    def read_beside(self, file: Path) -> list[str]:
        """The output for each pair, from a file with one line per record."""
        texts = list(whole_lines(file))
        if len(texts) != self.total:
            raise DataError(
                f"{file}: {len(texts):,} lines, but {self.name} has {self.total:,} records: want one output per "
                "record, in the same order, an empty line where there is none."
            )
        return [texts[place] for place in self.places]


def read_records(spec: CorpusSpec, config: DataConfig, allow_loss: bool, say: Say) -> Records:
    """Read the records of a file; calls `say` with what was left out; DataError for what the doctor calls hard."""
    pairs: list[Pair] = []
    places: list[int] = []
    total = 0
    faults: dict[str, Finding] = {}
    uses: list[str] = []
    for row in checked_rows(spec, config, references=True, uses=uses):
        if isinstance(row, Pair):
            pairs.append(row)
            places.append(total)
        else:
            faults.setdefault(row.kind, Finding(row.kind)).add(row.line, row.detail)
        total += isinstance(row, Pair) or row.kind not in NO_RECORDS
    found = account(spec, len(pairs), faults, allow_loss)
    if found.hard:
        task = next(
            name for name, task in TASKS.items() if task.form == spec.form
        )  # all tasks of this form read files in the same way
        command = doctor_command([spec.name], None, spec.read_as, task)
        raise DataError(f"{found.render()}\n`{command}` shows details; nothing was evaluated.")
    found.reads = "" if is_plain(spec, uses) else reading_in_words(spec, uses, None)
    if found.findings:
        say(found.render())
    elif found.reads:
        say(f"{spec.name}: reads {found.reads}")
    return Records(spec.name, pairs, found.unusable, places, total)


def read_pairs(spec: CorpusSpec, config: DataConfig, allow_loss: bool, say: Say) -> tuple[list[Pair], dict[str, int]]:
    """The usable records, and how many others there are for which reason."""
    found = read_records(spec, config, allow_loss, say)
    return found.pairs, found.excluded


def read_items(spec: CorpusSpec, config: DataConfig, allow_loss: bool, say: Say) -> tuple[list[Item], dict[str, int]]:
    """The test items, and how many lines were left out for which reason."""
    found = read_records(spec, config, allow_loss, say)
    return found.items, found.excluded
