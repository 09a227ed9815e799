"""seqloom compare: one sentence, several generations of models."""

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def compare(
    text: str,
    /,
    *folders: str,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    json_: bool = False,
    threads: int | None = None,
) -> None:
    """Show what models of several generations make of one sentence, side by side.

    Without folders, these are the bundled models from English to French: a plain recurrent network, an LSTM that reads
    the source in reverse, a GRU with attention, and a Transformer, all trained on the same pairs with the same
    tokenizer for the same time. Prints the translation of each, its score (log-probability by the rule of its search,
    usually per token), the milliseconds it took (median of three), how long it was trained, and where it looked, as a
    heat map.

    Parameters
    ----------
    text
        the sentence, in quotes
    folders
        other models to compare: model folders, or names of bundled models
    out
        file to write as well: .html is a page with every view of every model, .json the explain document
    json_
        print one JSON object instead of a table
    threads
        number of threads [default: all cores]

    Examples
    --------
        seqloom compare "They are watching."
        seqloom compare "They are watching." -o page.html
        seqloom compare "They are watching." runs/x runs/y --json
    """
    from rich.console import Console

    from seqloom.workflows.compare import compare as run
    from seqloom.workflows.compare import draw

    found = run(text, folders, out=out, threads=threads, notice=lambda message: print(message, file=sys.stderr))
    if json_:
        print(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        draw(found, Console(soft_wrap=False))
    if out is not None:
        print(out, file=sys.stderr if json_ else sys.stdout)
