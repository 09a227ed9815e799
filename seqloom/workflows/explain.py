"""Explain what models do with a text: load them, make the explain document, write it or draw it in the terminal."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from seqloom.data.lines import whole_lines
from seqloom.errors import DataError, UsageError, did_you_mean
from seqloom.explain.document import Explained
from seqloom.explain.page import page
from seqloom.explain.picture import need_matplotlib, picture
from seqloom.explain.points import Curve
from seqloom.explain.terminal import render
from seqloom.files.durable import replace_file
from seqloom.formats.live_model import check_live, live_model
from seqloom.inside.basis import Basis
from seqloom.inside.curves import training_curves
from seqloom.inside.lanes import explain as explain_text
from seqloom.inside.states import map_phrases
from seqloom.inside.views import CURVES, check_views
from seqloom.runtime.answering import Answering, load_answering
from seqloom.runtime.folder import open_run

Write = Callable[[Explained, Sequence[str]], bytes]
WRITERS: dict[str, Write] = {  # suffix of the file -> its content; the views that were asked for, if any
    ".json": lambda document, views: document.to_json() + b"\n",
    ".html": lambda document, views: page(document).encode(),
    ".png": lambda document, views: picture(document, first(document, views), "png"),
    ".svg": lambda document, views: picture(document, first(document, views), "svg"),
}
PICTURES = (".png", ".svg")  # one view each
LEAST_PHRASES = 3  # two axes need three points
IN_THE_TERMINAL = ("attention",)  # views that the terminal draws unless others are asked for


def explain(
    folders: Sequence[Path],
    text: str | None,
    *,
    target: str | None = None,
    reference: str | None = None,
    views: Sequence[str] = (),
    sentences: Path | None = None,
    phrases: Path | None = None,
    out: Path | None = None,
    live: bool = False,
    threads: int | None = None,
    notice: Callable[[str], None] = warnings.warn,
) -> Explained:
    """The document of the models in these folders on one text, written to `out` if that is given.

    `views`: without names every view that a model has; for the terminal only what it draws. The view `curves` shows
    training runs instead of a text, and `phrases` (a file) many sentences on one map. `live`: the page carries the
    models and computes what-ifs itself.
    """
    check_views(views)
    check_out(out, views)
    if live:
        check_live_page(folders, text, out)
    if CURVES in views:
        document = Explained(curves=runs_alone(folders, text, views))
    elif phrases is not None:
        if text is not None or views:
            raise UsageError(f"--phrases {phrases} shows many sentences on one map: leave out the text and --view")
        given = read_phrases(phrases)
        document = Explained(phrases=[map_phrases(model, given, notice) for model in load(folders, threads, notice)])
    elif text is None:
        raise UsageError(f"explain {folders[0]}: give the text that the model reads, in quotes")
    else:
        bases: dict[str, Basis] = {}
        others = read_sentences(sentences) if sentences is not None else None
        document = explain_text(
            load(folders, threads, notice),
            text,
            target=target,
            reference=reference,
            views=views or (None if out is not None else IN_THE_TERMINAL),
            sentences=others,
            strict=bool(views),
            bases=bases,
        )
        if live:
            axes = [{path.name: bases[path.basis] for path in lane.paths} for lane in document.lanes]
            models = [live_model(open_run(folder), bases=own) for folder, own in zip(folders, axes, strict=True)]
    if out is not None and live:
        replace_file(out, page(document, models).encode())
    elif out is not None:
        if out.suffix.lower() in PICTURES and not views and len(document.views()) > 1:
            shown, *others = document.views()
            notice(
                f"{out} shows the view {shown}; choose another one with --view: {', '.join(others)}. A .html has all."
            )
        replace_file(out, WRITERS[out.suffix.lower()](document, views))
    return document


def load(folders: Sequence[Path], threads: int | None, notice: Callable[[str], None]) -> list[Answering]:
    return [load_answering([folder], threads, notice=notice) for folder in folders]


def runs_alone(folders: Sequence[Path], text: str | None, views: Sequence[str]) -> list[Curve]:
    """The curves of these runs; they stand alone, without a text or another view."""
    if text is not None or set(views) != {CURVES}:
        raise UsageError(f"--view {CURVES} shows training runs: leave out the text and other views")
    return training_curves(folders)


def check_out(out: Path | None, views: Sequence[str]) -> None:
    """Before a model is loaded: a suffix that says what to write, and a folder to write it to."""
    if out is None:
        return
    if out.suffix.lower() not in WRITERS:
        known = ", ".join(WRITERS)
        raise UsageError(
            f"-o {out}: the suffix says what to write; want {known}.{did_you_mean(out.suffix.lower(), WRITERS)}"
        )
    if not out.parent.is_dir():
        raise UsageError(f"-o {out}: there is no folder {out.parent}; make it first, or choose another one")
    if out.is_dir():
        raise UsageError(f"-o {out}: that is a folder; name a file")
    if out.suffix.lower() in PICTURES:
        need_matplotlib(out.suffix)
        if len(views) > 1:
            raise UsageError(f"-o {out}: a picture shows one view, got {len(views)}; write .html for several")


def check_live_page(folders: Sequence[Path], text: str | None, out: Path | None) -> None:
    """Before a model is loaded: a page to put the models into, and models that a page can run."""
    if out is None or out.suffix.lower() != ".html":
        raise UsageError("--live puts the model into a page: name one with -o page.html")
    if text is None:
        raise UsageError("--live answers what-ifs about a text: give one, or leave out --live")
    for folder in folders:
        check_live(open_run(folder))


def read_sentences(file: Path) -> list[str]:
    found = [line for line in whole_lines(file) if line.strip()]
    if not found:
        raise DataError(f"{file}: no sentence in it; want one per line")
    return found


def first(document: Explained, views: Sequence[str]) -> str:
    """The view of a picture: the one that was asked for, or the first that the document has."""
    return (*views, *document.views(), "attention")[0]


def read_phrases(file: Path) -> list[tuple[str, str]]:
    """Labels and sentences: a line is a sentence, or a label, a tab and a sentence."""
    found = [line.rpartition("\t")[::2] for line in read_sentences(file)]
    if fault := next((number for number, (_, text) in enumerate(found, 1) if not text.strip()), 0):
        raise DataError(f"{file}: sentence {fault} is empty behind its label; want `label<TAB>sentence`")
    if len(found) < LEAST_PHRASES:
        raise DataError(f"{file}: {len(found)} sentences; a map needs at least {LEAST_PHRASES}, one per line")
    return found


def draw(document: Explained, console: Console) -> None:
    """Draw the document in the terminal."""
    render(document, console)
