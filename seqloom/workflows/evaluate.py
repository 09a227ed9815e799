"""seqloom evaluate: measures a model on a test file, in the way that fits the shape of its answers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seqloom.config import TASKS, tasks_of
from seqloom.data.given import GIVEN, as_file
from seqloom.data.read_as import ReadAs
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError, did_you_mean
from seqloom.evaluation.denoising import evaluate_denoise
from seqloom.evaluation.labels import evaluate_labels, evaluate_written_labels
from seqloom.evaluation.language import evaluate_language
from seqloom.evaluation.masked import evaluate_masked
from seqloom.evaluation.records import Say
from seqloom.evaluation.render import render as as_text
from seqloom.evaluation.report import Report
from seqloom.evaluation.translations import Side, evaluate_translations
from seqloom.files.durable import replace_file
from seqloom.runtime.folder import read_config


def evaluate(
    folder: Path | Sequence[Path],
    pairs: Any,
    request: SearchRequest | None = None,
    *,
    columns: str | ReadAs | None = None,
    against: Path | None = None,
    against_request: SearchRequest | None = None,
    task: str | None = None,
    outputs: Path | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> Report:
    """The report on the model in a folder, on several that answer together, or on a file of outputs.

    against: the other side, also a folder or a file; with `against_request` alone it is the same model, searched
    otherwise. pairs: the name of files, or Python's objects (data/given.py). Search options that only one side has hold
    for both. outputs: a file to write one output per record to.
    """
    places = (folder,) if isinstance(folder, Path) else tuple(folder)
    ours = Side(places, request or SearchRequest())
    asked = against_request or SearchRequest()
    rival = Side((against,) if against else places, asked) if against or asked.given else None
    ours.request.check()
    asked.over(ours.request).check()
    check_places(ours, str(pairs) if isinstance(pairs, str | Path) else GIVEN, rival, outputs)
    name = find_task(ours, rival, task)
    record = TASKS[name]
    refuse_outputs(ours, name, outputs)
    measure = MEASURES[record.shape]
    if measure:
        refuse_search(places[0], name, bool(places[1:] or ours.request.given or asked.given), rival)
    with as_file(pairs, columns, record.form) as (file, read_as):
        shared: dict[str, Any] = {"columns": read_as, "threads": threads, "allow_loss": allow_loss}
        shared["say"] = say if file == str(pairs) else lambda text: say(text.replace(file, GIVEN))
        compared = {"against": against} if against else {}
        if measure is None:
            report: Any = evaluate_translations(ours, file, rival, task=name, **shared)
        elif ours.is_written:
            report = evaluate_written_labels(places[0], file, task=name, against=against, **shared)
        else:
            report = measure(places[0], file, **shared, **compared)
    if outputs:
        replace_file(outputs, "".join(f"{line}\n" for line in report.outputs))
    return report


def check_places(ours: Side, pairs: str, rival: Side | None, outputs: Path | None) -> None:
    """UsageError for files and options that do not go together, before anything is loaded."""
    if Path(pairs).is_dir():
        raise UsageError(
            f"{pairs}: a folder; want a file of pairs. The model comes first: seqloom evaluate {pairs} {ours.places[0]}"
        )
    searches = any(side and not side.is_written for side in (ours, rival))
    if ours.is_written and (ours.places[1:] or (ours.request.given and not searches)):
        raise UsageError(f"{ours.places[0]}: a file of outputs; leave out {NO_SEARCH}: they need a model")
    if rival and rival.is_written and rival.request.given:
        raise UsageError(
            f"{rival.places[0]}: a file of outputs; leave out search options with --against-: they need a model"
        )
    if outputs and not outputs.parent.is_dir():
        raise UsageError(f"--outputs {outputs}: there is no folder {outputs.parent}")
    read = [
        *map(Path, [pairs, *pairs.split(",")]),
        *(side.places[0] for side in (ours, rival) if side and side.is_written),
    ]
    if outputs and outputs.resolve() in [file.resolve() for file in read]:
        raise UsageError(f"--outputs {outputs}: this file is read; name another one")


def find_task(ours: Side, rival: Side | None, task: str | None) -> str:
    """The task of the models; of two files of outputs the one that was given, or translation."""
    models = [read_config(side.places[0]).task.name for side in (ours, rival) if side and not side.is_written]
    if task and (task not in TASKS or (models and task != models[0])):
        known = f"the model was trained for {models[0]!r}" if models else f"want one of {', '.join(TASKS)}"
        raise UsageError(f"--task {task}: {known}.{did_you_mean(task, TASKS) if not models else ''}")
    name = models[0] if models else task or "translate"
    if any(side.is_written for side in (ours, rival) if side) and TASKS[name].shape not in WRITTEN:
        able = ", ".join(tasks_of(*WRITTEN))
        raise UsageError(f"task {name!r}: outputs in a file are measured for: {able}")
    return name


MEASURES: dict[str, Callable[..., Any] | None] = {  # shape of the answers -> its own evaluation; None = as translations
    "writes": None,
    "restores": evaluate_denoise,
    "labels": evaluate_labels,
    "tags": evaluate_labels,
    "fills": evaluate_masked,
    "continues": evaluate_language,
}
WRITTEN = ("writes", "labels", "tags")  # shapes with one output per record
COMPARED = ("labels", "tags", "continues", "writes")  # shapes that --against can compare
NO_SEARCH = "further folders and search options"


def refuse_search(folder: Path, task: str, searched: bool, rival: Side | None) -> None:
    """UsageError for options that do not apply to a task with an evaluation of its own."""
    if searched:
        raise UsageError(
            f"{folder} was trained for {task!r}, which is measured without ensembles and search: leave out {NO_SEARCH}"
        )
    if rival and TASKS[task].shape not in COMPARED:
        able = ", ".join(tasks_of(*COMPARED))
        raise UsageError(f"{folder} was trained for {task!r}; --against compares models of: {able}")


def refuse_outputs(ours: Side, task: str, outputs: Path | None) -> None:
    """UsageError for --outputs where a record has no output, or where it is in a file already."""
    if outputs and ours.is_written:
        raise UsageError(f"--outputs {outputs}: {ours.places[0]} already holds the outputs")
    if outputs and TASKS[task].shape not in WRITTEN:
        able = ", ".join(tasks_of(*WRITTEN))
        raise UsageError(f"{ours.places[0]} was trained for {task!r}; --outputs writes the outputs of: {able}")


def render(report: Report) -> str:
    """The report as a text for people."""
    if hasattr(report, "render"):  # that of a task of its own
        return str(report.render())
    return as_text(report)
