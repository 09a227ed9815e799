"""Any model folder as something that answers texts: a Translator, or what reads and does not write."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Union

from seqloom.errors import UsageError
from seqloom.runtime.engines import Notice
from seqloom.runtime.folder import read_config
from seqloom.runtime.members import NOT_TRANSLATORS
from seqloom.runtime.translator import Translator

if TYPE_CHECKING:  # they need torch, which a converted translator does not
    from seqloom.runtime.gap_filler import GapFiller
    from seqloom.runtime.generator import Generator
    from seqloom.runtime.labeller import Labeller

Answering = Union[Translator, "Labeller", "GapFiller", "Generator"]


def load_answering(
    folders: Sequence[Path],
    threads: int | None = None,
    engine: str = "auto",
    notice: Notice = warnings.warn,
    device: str = "cpu",
) -> Answering:
    """The model of the first folder, together with the others where it is one that writes."""
    task = read_config(folders[0]).task.name if folders else ""
    if task not in NOT_TRANSLATORS:
        return Translator.load_ensemble(folders, threads, device, engine, notice)
    if len(folders) > 1:
        raise UsageError(
            f"--with {folders[1]}: only models that write an output answer together; {folders[0]} is to {task}"
        )
    if task == "language":
        from seqloom.runtime.generator import Generator

        return Generator.load(folders[0], threads, device)
    if task == "masked":
        from seqloom.runtime.gap_filler import GapFiller

        return GapFiller.load(folders[0], threads, device, notice)
    from seqloom.runtime.labeller import Labeller

    return Labeller.load(folders[0], threads, device)
