"""seqloom explain: look inside a model."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def explain(
    folder: str | None = None,
    text: str | None = None,
    /,
    *,
    target: str | None = None,
    reference: str | None = None,
    with_: tuple[Path, ...] = (),
    view: tuple[str, ...] = (),
    sentences: Path | None = None,
    phrases: Path | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    live: Annotated[bool, Parameter(negative="")] = False,
    threads: int | None = None,
) -> None:
    """Show what a model does inside with a text: attention, gates, states and more.

    Takes a model of any task. Without -o, draws in the terminal: the answer, the attention as a heat map and the
    alternatives of each step. With -o, writes one file: .html is a page with all views, which needs no server and no
    network; .png and .svg show one view; .json is the explain document with all its numbers
    (docs/reference/explain.schema.json describes it). A language model explains the text itself: how well it predicts
    each token from those before it. A masked model fills the gaps, which are written ___.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`, or the name of a bundled model [default: en-fr]
    text
        the text that the model reads; a text that is too long for it is cut, with a note. Only --view curves
        and --phrases work without a text
    target
        explain how the model would write this text, instead of its own output
    reference
        a correct translation; the view beam shows at which step the search dropped it
    with_
        another model folder, to show beside this one on the same text; may be given several times
    view
        show only this view; may be given several times: attention, self, heads, gates, gradients, attribution, states,
        beam, lens, positions; curves shows how a run trained [default: in a file, every view that the model has]
    sentences
        file with one sentence per line; the roles of attention heads and the axes of states are measured on these
        sentences [default: the held-out sentences in the model folder]
    phrases
        file with one sentence per line, to draw on one map; needs no TEXT. Each sentence is a point, the axes are the
        first two principal components; a line may begin with a label and a tab
    out
        file to write instead of drawing in the terminal
    live
        put the models into the page (-o page.html), so that it answers what-ifs without a server: other source words,
        forced output words, heads switched off, attention and gates set by hand; at most 10 million parameters; needs
        pip install 'seqloom[onnx]'
    threads
        number of torch threads [default: all cores]

    Examples
    --------
        seqloom explain "They are watching."
        seqloom explain runs/x "a small cat sat on the mat"
        seqloom explain runs/x "a small cat" --target "un petit chat"
        seqloom explain runs/x "a small cat" --with runs/y -o page.html
        seqloom explain runs/x "a small cat" -o page.html --live
        seqloom explain runs/x "a small cat" --view attention -o attention.png
        seqloom explain runs/x --with runs/y --view curves
    """
    from rich.console import Console

    from seqloom.workflows.explain import draw
    from seqloom.workflows.explain import explain as run
    from seqloom.workflows.models import model_and_input

    model, given = model_and_input(folder, text)
    document = run(
        [model, *with_],
        given,
        target=target,
        reference=reference,
        views=view,
        sentences=sentences,
        phrases=phrases,
        out=out,
        live=live,
        threads=threads,
        notice=lambda message: print(message, file=sys.stderr),
    )
    if out is None:
        draw(document, Console(soft_wrap=False))
    else:
        print(out)
