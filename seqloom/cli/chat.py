"""seqloom chat: a line in, an answer out."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from seqloom.errors import UsageError
from seqloom.workflows.chat import chat as run
from seqloom.workflows.decoding import Decoding


def chat(
    folder: Path,
    /,
    *,
    beam: int | None = None,
    no_repeat_ngram: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
) -> None:
    """Talk with a model of dialogue, turn by turn.

    Type a line, read the answer; Ctrl-D leaves. A model that was trained on sources of several turns (task.turns) is
    told what was said before, the others know the last line alone. Without a terminal every line of standard input is
    answered with one line.

    Parameters
    ----------
    folder
        the folder that `seqloom train --task dialogue --out` wrote
    beam
        hypotheses kept an answer, 1 = greedy [default: the model's decode.beam]
    no_repeat_ngram
        no group of this many tokens comes twice in an answer
    temperature
        answer by chance: below 1 the likely becomes likelier, above 1 the unlikely
    top_p
        by chance: only the most probable tokens that hold this share together
    seed
        by chance: the same seed and the same lines give the same answers
    threads
        threads of torch [default: all cores]

    Examples
    --------
        seqloom chat runs/talk
        seqloom chat runs/talk --temperature 0.8 --top-p 0.9
    """
    by_chance = any(option is not None for option in (temperature, top_p, seed))
    if by_chance and beam is not None:
        raise UsageError(
            "--beam: an answer by chance (--temperature, --top-p, --seed) is not searched for; give one way"
        )
    decoding = Decoding(
        beam=beam, no_repeat_ngram=no_repeat_ngram, sample=1 if by_chance else None,
        temperature=temperature, top_p=top_p, seed=seed,
    )  # fmt: skip
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a broken letter is no reason to end a talk
    typed = sys.stdin is not None and sys.stdin.isatty()
    lines = typed_lines() if typed else (line.rstrip("\r\n") for line in sys.stdin or ())
    for answer in run(folder, lines, decoding, threads=threads, warn=lambda text: print(text, file=sys.stderr)):
        print(" ".join(answer.splitlines()), flush=True)


def typed_lines() -> Iterator[str]:
    """What a person types, until Ctrl-D; Enter alone asks nothing."""
    print("Type a line; Ctrl-D leaves.", file=sys.stderr)
    while True:
        try:
            line = input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
        if line.strip():
            yield line
