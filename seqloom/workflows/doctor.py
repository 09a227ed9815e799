"""seqloom doctor: report what is wrong with data files before a model is trained on them."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seqloom.config import TASKS, DataConfig
from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.data.doctor import compare, examine_alone, examine_held_out
from seqloom.data.findings import Report
from seqloom.data.given import Given, named_or_given, spool_given
from seqloom.data.label_checks import compare_labels
from seqloom.data.repair import check_repair, report_file, write_repaired
from seqloom.data.spooled import spool_stdin
from seqloom.errors import UsageError, did_you_mean
from seqloom.files.leftovers import scratch_folder


@dataclass(frozen=True)
class Checkup:
    """The reports of all files; hard when `train` would refuse one of them."""

    reports: list[Report]
    fixed: str = ""  # which files --fix has written, in words

    @property
    def hard(self) -> bool:
        """Whether `train` would refuse one of the files."""
        return any(report.hard for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """{"format": 1, "hard": ..., "corpora": [one report per corpus]}; see Report.to_json for the rest."""
        return {"format": 1, "hard": self.hard, "corpora": [report.to_json() for report in self.reports]}

    def render(self) -> str:
        """The reports as text."""
        others = self.reports[0].others.values() if self.reports else ()
        return "\n\n".join(report.render() for report in [*self.reports, *others])


def doctor(
    pairs: Sequence[Any],
    valid: Any = None,
    test: Any = None,
    columns: str | ReadAs | None = None,
    allow_loss: bool = False,
    max_chars: int | None = None,
    fix: Path | None = None,
    task: str = "translate",
) -> Checkup:
    """Examine each corpus, alone and against the valid and test pairs; `fix` writes the clean pairs of one corpus.

    pairs, valid, test: names of files, or pairs as Python's objects (data/given.py).
    """
    if task not in TASKS:
        raise UsageError(f"--task {task}: want one of {', '.join(TASKS)}.{did_you_mean(task, TASKS)}")
    form = TASKS[task].form
    if not pairs:
        raise UsageError(
            "doctor: which file? PAIRS = file.tsv | file.csv | file.jsonl | file.tmx | file.xlf | source.txt,target.txt"
        )
    if fix and len(pairs) > 1:
        raise UsageError(f"--fix {fix}: repairs one corpus at a time, got {len(pairs)}")
    if fix and form != "pairs":
        raise UsageError(f"--fix {fix}: writes pairs, and files for --task {task} do not hold pairs")
    if max_chars is not None and max_chars < 1:
        raise UsageError(f"--max-chars {max_chars}: want a number above 0")
    config = DataConfig() if max_chars is None else DataConfig(max_chars=max_chars)
    with ExitStack() as stack:
        specs = [open_corpus(name, columns, stack, form) for name in pairs]
        held_out = [
            open_corpus(name, columns, stack, form, stdin=False) if name is not None else None for name in (valid, test)
        ]
        if fix:
            check_repair(specs[0], fix)
        reports = [examine_alone(spec, config, allow_loss) for spec in specs]
        checked = examine_held_out(config, held_out[0], held_out[1], allow_loss)
        for report in reports:
            compare(report, checked)
        compare_labels(reports, checked)
        written = 0
        if fix:
            written = write_repaired(specs[0], config, reports[0], fix)
    return Checkup(reports, f"{fix}: {written:,} pairs; the rest in {report_file(fix)}" if fix else "")


def open_corpus(
    pairs: Any, columns: str | ReadAs | None, stack: ExitStack, form: str = "pairs", stdin: bool = True
) -> CorpusSpec:
    """Find a corpus; what can be read only once is kept in a file while the doctor works."""
    named = named_or_given(pairs)
    if isinstance(named, str) and not (stdin and named == "-"):
        return CorpusSpec.parse(named, columns, form=form)
    folder = stack.enter_context(scratch_folder())
    if isinstance(named, Given):
        return spool_given(folder, "given", named, ReadAs.of(columns), form=form)
    return replace(spool_stdin(folder, columns, form=form), name="-")
