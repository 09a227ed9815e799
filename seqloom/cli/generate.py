"""seqloom generate: go on with a text."""

import sys
from pathlib import Path

from seqloom.workflows.generate import generate as run


def generate(
    folder: Path,
    /,
    *,
    prompt: str | None = None,
    prompt_file: Path | None = None,
    tokens: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    num: int = 1,
    threads: int | None = None,
) -> None:
    """Go on with a text, word by word: what a language model is for.

    Prints the prompt and what the model writes after it, as it is written. Without a prompt it begins a text of its
    own. The same seed gives the same text; with --num there is a line --- between the texts.

    Parameters
    ----------
    folder
        the folder that `seqloom train --task language --out` wrote
    prompt
        the text to go on from
    prompt_file
        the same from a UTF-8 file, also .gz; - is standard input
    tokens
        how many tokens to write [default: 300]
    temperature
        below 1 the likely becomes likelier [default: 0.8]
    top_k
        only the K most probable tokens
    top_p
        only the most probable tokens that hold this share together
    seed
        what chance depends on [default: 1]
    num
        how many texts
    threads
        threads of torch [default: all cores]

    Examples
    --------
        seqloom generate runs/plays --prompt "ROMEO:"
        seqloom generate runs/plays --tokens 1000 --temperature 0.6 --seed 7
        seqloom generate runs/plays --prompt-file begin.txt --num 3 --top-p 0.9
    """
    pieces = run(
        folder, prompt=prompt, prompt_file=prompt_file, tokens=tokens, temperature=temperature, top_k=top_k,
        top_p=top_p, seed=seed, num=num, threads=threads,
    )  # fmt: skip
    for piece in pieces:
        print(piece, end="", file=sys.stdout, flush=True)
