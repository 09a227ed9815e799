"""What a file to evaluate on holds: its usable records, and an account of the others."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from seqloom.config import TASKS
from seqloom.errors import DataError

if TYPE_CHECKING:
    from seqloom.config import DataConfig
    from seqloom.data.corpus import CorpusSpec, Pair


def read_pairs(
    spec: "CorpusSpec", config: "DataConfig", allow_loss: bool, say: Callable[[str], None]
) -> tuple[list["Pair"], dict[str, int]]:
    """The records, and how many lines were left out for which reason; what the doctor calls hard is refused."""
    from seqloom.data.corpus import Pair, checked_rows
    from seqloom.data.doctor import account
    from seqloom.data.findings import Finding
    from seqloom.workflows.doctor import doctor_command

    pairs: list[Pair] = []
    faults: dict[str, Finding] = {}
    for row in checked_rows(spec, config, references=True):
        if isinstance(row, Pair):
            pairs.append(row)
        else:
            faults.setdefault(row.kind, Finding(row.kind)).add(row.line, row.detail)
    found = account(spec, len(pairs), faults, allow_loss)
    if found.hard:
        task = next(task for task, (form, _) in TASKS.items() if form == spec.form)  # the first reads as all of them do
        command = doctor_command([spec.name], None, spec.columns, task)
        raise DataError(f"{found.render()}\n`{command}` tells more; nothing was evaluated.")
    if found.findings:
        say(found.render())
    return pairs, found.unusable
