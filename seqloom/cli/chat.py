"""seqloom chat: talk with a dialogue model."""

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from seqloom.cli.flags import NO_OPTIONS, search_flags
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError


def chat(
    folder: Path,
    /,
    *,
    search: Annotated[SearchRequest, search_flags("chat")] = NO_OPTIONS,
    threads: int | None = None,
) -> None:
    """Talk with a dialogue model, turn by turn.

    Type a line and read the answer; Ctrl-D ends the conversation. A model that was trained on several turns per source
    (task.turns) also reads the earlier turns; any other model reads only the last line. Without a terminal, prints one
    answer per line of standard input. With --temperature, --top-p or --seed, answers are sampled.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --task dialogue --out`
    threads
        number of torch threads [default: all cores]

    Examples
    --------
        seqloom chat runs/talk
        seqloom chat runs/talk --temperature 0.8 --top-p 0.9
    """
    from seqloom.workflows.chat import chat as run

    at_random = any(option is not None for option in (search.temperature, search.top_p, search.seed))
    if at_random and search.beam is not None:
        raise UsageError("--beam: sampling (--temperature, --top-p, --seed) uses no beam; leave out one or the other")
    if at_random:
        search = replace(search, sample=1)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # an undecodable byte must not end the conversation
    typed = sys.stdin is not None and sys.stdin.isatty()
    lines = typed_lines() if typed else (line.rstrip("\r\n") for line in sys.stdin or ())
    for answer in run(folder, lines, search, threads=threads, warn=lambda text: print(text, file=sys.stderr)):
        print(" ".join(answer.splitlines()), flush=True)


def typed_lines() -> Iterator[str]:
    """Yield the lines that a person types, until Ctrl-D; blank lines are ignored."""
    print("Type a line; Ctrl-D ends.", file=sys.stderr)
    while True:
        try:
            line = input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
        if line.strip():
            yield line
