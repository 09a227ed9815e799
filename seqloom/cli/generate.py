"""seqloom generate: generate text from a prompt."""

import sys
from pathlib import Path
from typing import Annotated

from seqloom.cli.flags import NO_OPTIONS, search_flags
from seqloom.decode.options import SearchRequest


def generate(
    folder: Path,
    /,
    *,
    prompt: str | None = None,
    prompt_file: Path | None = None,
    tokens: int | None = None,
    search: Annotated[SearchRequest, search_flags("generate")] = NO_OPTIONS,
    num: int = 1,
    threads: int | None = None,
) -> None:
    """Generate text from a prompt.

    Prints the prompt and its continuation, token by token. Without a prompt the model starts a new text. Tokens are
    sampled, by default with temperature 0.8 and seed 1. With --num, a line --- separates the texts.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --task language --out`
    prompt
        text to continue
    prompt_file
        UTF-8 file with the text to continue, may be .gz; - is standard input
    tokens
        number of tokens to generate [default: 300]
    num
        number of texts
    threads
        number of torch threads [default: all cores]

    Examples
    --------
        seqloom generate runs/plays --prompt "ROMEO:"
        seqloom generate runs/plays --tokens 1000 --temperature 0.6 --seed 7
        seqloom generate runs/plays --prompt-file begin.txt --num 3 --top-p 0.9
    """
    from seqloom.workflows.generate import generate as run

    for piece in run(folder, prompt, prompt_file, search, tokens=tokens, num=num, threads=threads):
        print(piece, end="", file=sys.stdout, flush=True)
