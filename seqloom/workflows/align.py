"""Word alignments of the pairs of a file, in the Pharaoh form, and their error against a gold file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data.account import Account
from seqloom.errors import DataError
from seqloom.workflows.given_pairs import HEADER, refuse_unequal, show_pairs

if TYPE_CHECKING:
    from seqloom.config import DataConfig
    from seqloom.data.corpus import Row
    from seqloom.evaluate.alignment_error import Gold, Link
    from seqloom.evaluate.significance import Estimate

BAR = "|||"  # source ||| target, the form of other aligners


@dataclass
class Aligned:
    """What became of the pairs, and with a gold file how far off the links are."""

    account: Account = field(default_factory=Account)
    errors: "dict[str, Estimate]" = field(default_factory=dict)
    header: bool = False

    def render(self) -> str:
        from seqloom.evaluate.render import interval, table

        blocks = [HEADER] if self.header else []
        if self.account.excluded:
            blocks.append(f"{self.account.render()}\nwhat is left out has an empty row")
        if self.errors:
            names = {"aer": "alignment error rate (-)", "precision": "precision (+)", "recall": "recall (+)"}
            rows = [[names[name], f"{found.score:.2f}", interval(found)] for name, found in self.errors.items()]
            blocks.append(table([["", "score", "95 % interval"], *rows]))
        return "\n".join(blocks)

    def to_json(self) -> dict[str, Any]:
        about = {"aligned": self.account.kept, "total": self.account.total, "excluded": self.account.excluded}
        return about | {name: asdict(found) for name, found in self.errors.items()}


def pharaoh(links: "Sequence[Link]") -> str:
    """`0-0 1-2`: source word - target word, both from 0."""
    return " ".join(f"{source}-{target}" for source, target in links)


def align(
    folder: Path,
    pairs: str,
    take: "Callable[[Sequence[Link]], None]",
    *,
    gold: Path | None = None,
    columns: str | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Aligned:
    """The links of every record of PAIRS go to `take`, in file order."""
    from seqloom.data.lines import Fault
    from seqloom.runtime.translator import Translator
    from seqloom.runtime.word_alignment import align_words

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


def read_records(pairs: str, columns: str | None, data: "DataConfig", aligned: Aligned) -> "Iterator[Row]":
    """The pairs and faults, a header aside, which is noted; what is refused is refused before the first of them."""
    from seqloom.data.corpus import CorpusSpec, Fault, checked_rows

    if is_barred(pairs) and columns is None:
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
    """One file whose first line with a text is `source ||| target`; in a .csv or .jsonl bars are part of a text."""
    from seqloom.data.corpus import tells_no_table
    from seqloom.data.lines import read_lines

    if not Path(pairs).is_file() or not tells_no_table(Path(pairs)):
        return False
    first = next((line for line in read_lines(Path(pairs)) if not isinstance(line, str) or line.strip()), "")
    return isinstance(first, str) and BAR in first and "\t" not in first


def read_barred(file: Path, data: "DataConfig") -> "Iterator[Row]":
    from seqloom.data.lines import read_lines
    from seqloom.data.readers import pair_of

    for line, text in enumerate(read_lines(file, data.normalise), 1):
        if isinstance(text, str):
            yield pair_of(line, [cell.strip() for cell in text.split(BAR)], references=False)
        else:
            yield text


def read_gold(file: Path) -> "list[Gold]":
    from seqloom.data.lines import whole_lines
    from seqloom.evaluate.alignment_error import parse_gold

    return parse_gold(whole_lines(file), str(file))


def check_golds(rows: "Sequence[Row]", golds: "Sequence[Gold]", pairs: str, name: str) -> None:
    """Before anything is aligned: a gold line for each pair, and no link to a word that is not there."""
    from seqloom.data.corpus import Pair
    from seqloom.evaluate.alignment_error import check_gold
    from seqloom.runtime.word_alignment import WORD

    if len(rows) != len(golds):
        raise DataError(f"{name} has {len(golds):,} lines, {pairs} has {len(rows):,} pairs: want one line for each.")
    for line, (row, gold) in enumerate(zip(rows, golds, strict=True), 1):
        if isinstance(row, Pair):
            check_gold(gold, len(WORD.findall(row.source)), len(WORD.findall(row.target)), f"{name}, line {line}")


def judge(found: "Sequence[Sequence[Link]]", golds: "Sequence[Gold]") -> "dict[str, Estimate]":
    from seqloom.evaluate.alignment_error import measure_alignments
    from seqloom.evaluate.significance import estimate

    return estimate(measure_alignments(found, golds))
