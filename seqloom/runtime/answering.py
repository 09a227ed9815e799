"""Loads any model folder as the class that answers texts for its task: Translator, Labeller, GapFiller, Generator."""

import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Union

from seqloom.config import SHAPES, TASKS
from seqloom.errors import UsageError
from seqloom.runtime.bundled import find_model
from seqloom.runtime.engines import Notice
from seqloom.runtime.folder import read_config
from seqloom.runtime.translator import Translator

if TYPE_CHECKING:  # these need torch; a converted translator does not
    from seqloom.runtime.gap_filler import GapFiller
    from seqloom.runtime.generator import Generator
    from seqloom.runtime.labeller import Labeller

Answering = Union[Translator, "Labeller", "GapFiller", "Generator"]


ANSWERERS = {  # shape of the answers (config/tasks.py) -> module and class; imported when used, most need torch
    "writes": "seqloom.runtime.translator:Translator",
    "restores": "seqloom.runtime.translator:Translator",
    "labels": "seqloom.runtime.labeller:Labeller",
    "tags": "seqloom.runtime.labeller:Labeller",
    "fills": "seqloom.runtime.gap_filler:GapFiller",
    "continues": "seqloom.runtime.generator:Generator",
}


def load_answering(
    folders: Sequence[Path],
    threads: int | None = None,
    engine: str = "auto",
    notice: Notice = warnings.warn,
    device: str = "cpu",
) -> Answering:
    """Load the model in the first folder; if it translates, the models in the other folders join it as an ensemble."""
    folders = [*map(find_model, folders)]
    task = read_config(folders[0]).task.name if folders else "translate"
    shape = TASKS[task].shape
    if SHAPES[shape].translates:
        return Translator.load_ensemble(folders, threads, device, engine, notice)
    if len(folders) > 1:
        raise UsageError(
            f"--with {folders[1]}: only models that translate form an ensemble; {folders[0]} was trained for {task!r}"
        )
    module, _, name = ANSWERERS[shape].partition(":")
    answerer: Answering = getattr(import_module(module), name).load(folders[0], threads, device, notice)
    return answerer
