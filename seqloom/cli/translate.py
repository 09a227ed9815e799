"""seqloom translate: one line in, one line out."""

import sys
import time
from pathlib import Path

from seqloom.workflows.translate import translate as run


def translate(
    folder: Path,
    file: str = "-",
    /,
    *,
    beam: int | None = None,
    n_best: int = 1,
    scores: bool = False,
    threads: int | None = None,
) -> None:
    """Translate text, one line in, one line out.

    An empty line gives an empty line. A line that is longer than the model takes is translated sentence by sentence.
    In a terminal, and for a program that waits for answers, each line is answered when it comes.

    With --scores each line is SCORE<TAB>TEXT: the log-probability, divided by length ** decode.length_penalty.
    With --n-best N there are N lines for each input line: LINE<TAB>TEXT, or LINE<TAB>SCORE<TAB>TEXT, best first.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    file
        UTF-8 text, also .gz; - is standard input
    beam
        hypotheses kept a sentence, 1 = greedy [default: the model's decode.beam]
    n_best
        how many translations of each line
    scores
        print the score of each translation
    threads
        threads of torch [default: all cores]

    Examples
    --------
        echo "a sentence" | seqloom translate runs/x
        seqloom translate runs/x input.txt > output.txt
        seqloom translate runs/x input.txt.gz --beam 1
        seqloom translate runs/x input.txt --n-best 5 --scores
    """
    path = None if file == "-" else Path(file)
    typed = path is None and sys.stdin is not None and sys.stdin.isatty()
    if typed:
        print("Type a line to translate it; Ctrl-D ends.", file=sys.stderr)
    counter = Counter(silent=typed or sys.stdout.isatty() or not sys.stderr.isatty())
    run(
        folder,
        path,
        sys.stdout,
        beam=beam,
        n_best=n_best,
        scores=scores,
        threads=threads,
        warn=lambda message: print(f"{path or 'standard input'}, {message}", file=sys.stderr),
        progress=counter.show,
    )
    counter.end()


class Counter:
    """Lines done so far, told on a terminal that shows nothing else."""

    def __init__(self, silent: bool) -> None:
        self.start = time.monotonic()
        self.shown = False
        self.silent = silent

    def show(self, done: int) -> None:
        if not self.silent:
            self.shown = True
            rate = done / (time.monotonic() - self.start)
            print(f"\r{done:,} lines, {rate:,.1f} a second ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.shown:
            print(file=sys.stderr)
