"""seqloom doctor: what is wrong with these pairs, before a model learns it."""

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seqloom.config import TASKS, DataConfig
from seqloom.data.corpus import CorpusSpec, spool_stdin
from seqloom.data.doctor import compare, examine_alone, examine_held_out
from seqloom.data.findings import Report
from seqloom.data.label_checks import compare_labels
from seqloom.data.repair import check_repair, report_file, write_repaired
from seqloom.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Checkup:
    """The reports of all files; hard when one of them cannot be trained on as it is."""

    reports: list[Report]
    fixed: str = ""  # what was written, for a person

    @property
    def hard(self) -> bool:
        return any(report.hard for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """{"format": 1, "hard": ..., "corpora": [one report a corpus]}; see Report.to_json for the rest."""
        return {"format": 1, "hard": self.hard, "corpora": [report.to_json() for report in self.reports]}

    def render(self) -> str:
        others = self.reports[0].others.values() if self.reports else ()
        return "\n\n".join(report.render() for report in [*self.reports, *others])


def doctor(
    pairs: Sequence[str],
    valid: str | None = None,
    test: str | None = None,
    columns: str | None = None,
    allow_loss: bool = False,
    max_chars: int | None = None,
    fix: Path | None = None,
    task: str = "translate",
) -> Checkup:
    """Examine each corpus, alone and against the valid and test files; `fix` writes the usable pairs of one corpus."""
    if task not in TASKS:
        raise UsageError(f"--task {task}: want one of {', '.join(TASKS)}.{did_you_mean(task, TASKS)}")
    form = TASKS[task][0]
    if not pairs:
        raise UsageError("doctor: which file? PAIRS = file.tsv | file.csv | file.jsonl | source.txt,target.txt")
    if fix and len(pairs) > 1:
        raise UsageError(f"--fix {fix}: repairs one corpus at a time, got {len(pairs)}")
    if fix and form != "pairs":
        raise UsageError(f"--fix {fix}: writes pairs; files to {task} hold none")
    if max_chars is not None and max_chars < 1:
        raise UsageError(f"--max-chars {max_chars}: want a number above 0")
    config = DataConfig() if max_chars is None else DataConfig(max_chars=max_chars)
    with ExitStack() as stack:
        specs = [open_corpus(name, columns, stack, form) for name in pairs]
        held_out = [CorpusSpec.parse(name, columns, form=form) if name else None for name in (valid, test)]
        if fix:
            check_repair(specs[0], fix)
        reports = [examine_alone(spec, config, allow_loss) for spec in specs]
        checked = examine_held_out(config, held_out[0], held_out[1], allow_loss)
        for report in reports:
            compare(report, checked)
        compare_labels(reports, checked)
        if fix:
            write_repaired(specs[0], config, reports[0], fix)
    return Checkup(reports, f"{fix}: {reports[0].kept:,} pairs; the rest in {report_file(fix)}" if fix else "")


def doctor_command(names: Sequence[str], valid: str | None, columns: Sequence[str], task: str) -> str:
    """The call that shows all about these files, read as they are read for this task."""
    words = [*names, *(["--valid", valid] if valid else [])]
    words += ["--columns", ",".join(columns)] if columns else []
    words += ["--task", task] if task != "translate" else []
    return f"seqloom doctor {shlex.join(words)}"


def open_corpus(name: str, columns: str | None, stack: ExitStack, form: str = "pairs") -> CorpusSpec:
    """Standard input can be read only once, so it is kept in a file as long as the doctor looks."""
    if name != "-":
        return CorpusSpec.parse(name, columns, form=form)
    folder = stack.enter_context(TemporaryDirectory(prefix="seqloom-"))
    return replace(spool_stdin(Path(folder), columns, form=form), name="-")
