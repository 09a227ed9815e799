"""seqloom compare: one sentence, translated by models of several generations, side by side."""

import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seqloom.config import SHAPES, TASKS
from seqloom.errors import UsageError
from seqloom.explain.document import Explained
from seqloom.explain.heatmap import safe
from seqloom.explain.terminal import DRAWINGS
from seqloom.files.durable import replace_file
from seqloom.inside.lanes import explain as explain_text
from seqloom.runtime.answering import load_answering
from seqloom.runtime.bundled import LINEAGE, NAMES, find_model, is_installed
from seqloom.runtime.folder import read_facts
from seqloom.runtime.translator import Translator
from seqloom.workflows.explain import WRITERS, check_out

TIMED = 3  # translations after the first one, which also prepares the model; their median counts
VIEW = "attention"
LEGEND = "score: log-probability, usually per token (0 = certain); ms: time of this translation; trained: how long"


@dataclass(frozen=True)
class Answer:
    """How one model translated the sentence."""

    model: str
    about: str  # of a bundled model: which generation it is
    translation: str
    score: float | None  # log-probability by the rule of the model's search, usually per token
    milliseconds: float
    minutes: float | None  # of training; None: not known

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """One answer per model, and the explain document with one lane per model."""

    text: str
    answers: list[Answer]
    document: Explained

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "answers": [answer.to_json() for answer in self.answers]}


def compare(
    text: str,
    folders: Sequence[str | Path] = (),
    *,
    out: Path | None = None,
    threads: int | None = None,
    notice: Callable[[str], None] = warnings.warn,
) -> Comparison:
    """Translate a text with every model; without folders with the bundled ones, one per generation.

    `out`: a file to write what each model does inside to, as `explain` does.
    """
    if not text.strip():
        raise UsageError("compare: an empty text; give a sentence in quotes")
    check_out(out, ())
    names = [str(folder) for folder in folders or [*filter(is_installed, LINEAGE)] or LINEAGE]
    models = [load_translator(name, threads, notice) for name in names]
    document = explain_text(models, text, views=None if out is not None else [VIEW], strict=False)
    answers = [
        Answer(name, NAMES.get(name, ""), " ".join(lane.answers), lane.score, milliseconds(model, text), minutes(name))
        for name, model, lane in zip(names, models, document.lanes, strict=True)
    ]
    if out is not None:
        replace_file(out, WRITERS[out.suffix.lower()](document, ()))
    return Comparison(text, answers, document)


def load_translator(name: str, threads: int | None, notice: Callable[[str], None]) -> Translator:
    model = load_answering([Path(name)], threads, notice=notice)
    if not isinstance(model, Translator) or not SHAPES[TASKS[model.config.task.name].shape].translates:
        raise UsageError(f"compare {name}: trained for {model.config.task.name!r}; want models that translate")
    return model


def minutes(name: str) -> float | None:
    """How long the model was trained: generations with unequal times are not compared as inventions."""
    seconds = read_facts(find_model(name)).seconds
    return None if seconds is None else round(seconds / 60, 1)


def milliseconds(model: Translator, text: str) -> float:
    """The median time of a translation with the engine and the search of the model."""
    times = []
    for _ in range(1 + TIMED):
        start = time.perf_counter()
        model.translate(text, warn=lambda message: None)
        times.append(1000 * (time.perf_counter() - start))
    return round(statistics.median(times[1:]), 1)


def draw(found: Comparison, console: Console) -> None:
    """Print the answers as a table, then the heat map of each model that has attention."""
    console.print(Text(safe(found.text), "bold"))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("model", "translation"):
        table.add_column(title, overflow="fold")
    for title in ("score", "ms", "trained"):
        table.add_column(title, justify="right", no_wrap=True)
    for answer in found.answers:
        score = "" if answer.score is None else f"{answer.score:.3f}"
        trained = "" if answer.minutes is None else f"{answer.minutes:.0f} min"
        names = Text(safe(answer.model)), Text(safe(answer.translation), "bold")
        table.add_row(*names, score, f"{answer.milliseconds:.0f}", trained)
    console.print(table)
    console.print(Text(LEGEND, "dim"))
    for answer, lane in zip(found.answers, found.document.lanes, strict=True):
        console.print()
        console.rule(Text(safe(" · ".join(filter(None, (answer.model, answer.about))))), align="left", style="dim")
        drawn = [*DRAWINGS[VIEW](lane, console)]
        for part in drawn:
            console.print(part, soft_wrap=True)
        if not drawn:
            console.print(Text("no attention: the decoder knows the source by one vector, whatever its length", "dim"))
