"""seqloom align: word alignments of the pairs of a file, in the Pharaoh format, and their error against a gold file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seqloom.config import DataConfig
from seqloom.data.account import Account
from seqloom.data.corpus import CorpusSpec, Pair, ReadAs, Row, checked_rows, tells_no_table
from seqloom.data.lines import Fault, read_lines, whole_lines
from seqloom.data.table_readers import pair_of
from seqloom.errors import DataError
from seqloom.evaluation.render import interval, table
from seqloom.metrics.alignment_error import Gold, Link, check_gold, measure_alignments, parse_gold
from seqloom.metrics.significance import Estimate, estimate
from seqloom.runtime.translator import Translator
from seqloom.runtime.word_alignment import WORD, align_words
from seqloom.workflows.given_pairs import HEADER, refuse_unequal, show_pairs

BAR = "|||"  # source ||| target, the form of other aligners


@dataclass
class Aligned:
    """The result: the account of the pairs and, with a gold file, the error rates."""

    account: Account = field(default_factory=Account)
    errors: "dict[str, Estimate]" = field(default_factory=dict)
    header: bool = False

    def render(self) -> str:
        blocks = [HEADER] if self.header else []
        if self.account.excluded:
            blocks.append(f"{self.account.render()}\nthe row of each of these is empty")
        if self.errors:
            names = {"aer": "alignment error rate (-)", "precision": "precision (+)", "recall": "recall (+)"}
            rows = [[names[name], f"{found.score:.2f}", interval(found)] for name, found in self.errors.items()]
            blocks.append(table([["", "score", "95 % interval"], *rows]))
        return "\n".join(blocks)

    def to_json(self) -> dict[str, Any]:
        about = {"aligned": self.account.kept, "total": self.account.total, "excluded": self.account.excluded}
        return about | {name: asdict(found) for name, found in self.errors.items()}


def pharaoh(links: Sequence[Link]) -> str:
    """Links in the Pharaoh format, `0-0 1-2`: source word - target word, both counted from 0."""
    return " ".join(f"{source}-{target}" for source, target in links)


def align(
    folder: Path,
    pairs: str,
    take: Callable[[Sequence[Link]], None],
    *,
    gold: Path | None = None,
    columns: str | ReadAs | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Aligned:
    """Align every record of PAIRS and pass its links to `take`, in file order."""
    golds = read_gold(gold) if gold is not None else None
    translator = Translator.load(folder, threads=threads, engine="torch")
    aligned = Aligned()
    rows: Iterable[Row] = read_records(pairs, columns, translator.config.data, aligned)
    if golds is not None:
        rows = [*rows]
        check_golds(rows, golds, pairs, str(gold))
    found = []
    for chunk in show_pairs(translator, rows, align_words):
        for _, outcome in chunk:
            links: Sequence[Link] = []
            if isinstance(outcome, Fault):
                aligned.account.exclude(pairs, outcome)
            else:
                aligned.account.keep(1)
                links = outcome
            take(links)
            if golds is not None:
                found.append(links)
        progress(aligned.account.total)
    if not aligned.account.kept:
        raise DataError(f"{pairs}: no pair could be aligned.\n{aligned.account.render()}")
    if golds is not None:
        aligned.errors = judge(found, golds)
    return aligned


def read_records(pairs: str, columns: str | ReadAs | None, data: DataConfig, aligned: Aligned) -> Iterator[Row]:
    """Yield pairs and faults without the header, which is reported; errors are raised before the first record."""
    if is_barred(pairs) and not ReadAs.of(columns).options():
        rows = read_barred(Path(pairs), data)
    else:
        spec = CorpusSpec.parse(pairs, columns)
        refuse_unequal(spec, data)
        rows = checked_rows(spec, data)
    for row in rows:
        if isinstance(row, Fault) and row.kind == "header":
            aligned.header = True
        else:
            yield row


def is_barred(pairs: str) -> bool:
    """Whether one file has lines `source ||| target`, by its first line with a text; never for .csv or .jsonl."""
    if not Path(pairs).is_file() or not tells_no_table(Path(pairs)):
        return False
    first = next((line for line in read_lines(Path(pairs)) if not isinstance(line, str) or line.strip()), "")
    return isinstance(first, str) and BAR in first and "\t" not in first


def read_barred(file: Path, data: DataConfig) -> Iterator[Row]:
    for line, text in enumerate(read_lines(file, data.normalise), 1):
        if isinstance(text, str):
            yield pair_of(line, [cell.strip() for cell in text.split(BAR)], references=False)
        else:
            yield text


def read_gold(file: Path) -> "list[Gold]":
    return parse_gold(whole_lines(file), str(file))


def check_golds(rows: Sequence[Row], golds: Sequence[Gold], pairs: str, name: str) -> None:
    """Check before aligning: one gold line per pair, and no link to a word that does not exist."""
    if len(rows) != len(golds):
        raise DataError(f"{name} has {len(golds):,} lines, {pairs} has {len(rows):,} pairs: want one line for each.")
    for line, (row, gold) in enumerate(zip(rows, golds, strict=True), 1):
        if isinstance(row, Pair):
            check_gold(gold, len(WORD.findall(row.source)), len(WORD.findall(row.target)), f"{name}, line {line}")


def judge(found: Sequence[Sequence[Link]], golds: Sequence[Gold]) -> dict[str, Estimate]:
    return estimate(measure_alignments(found, golds))
