"""seqloom translate: one line in, one line out."""

import sys
import time
from pathlib import Path

from seqloom.workflows.decoding import Decoding
from seqloom.workflows.translate import translate as run


def translate(
    folder: Path,
    file: str = "-",
    /,
    *,
    beam: int | None = None,
    n_best: int | None = None,
    length_penalty: float | None = None,
    coverage_penalty: float | None = None,
    min_length: int | None = None,
    no_repeat_ngram: int | None = None,
    prefix: str | None = None,
    prefix_file: Path | None = None,
    alternatives: int | None = None,
    sample: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    mbr: int | None = None,
    with_: list[Path] | None = None,
    scores: bool = False,
    threads: int | None = None,
    engine: str = "auto",
) -> None:
    """Translate text, one line in, one line out.

    An empty line gives an empty line. A line that is longer than those the model has seen is translated sentence by
    sentence. Of a model to summarise, to answer or to pronounce it is cut at the model's limit; standard error says so.
    In a terminal, and for a program that waits for answers, each line is answered when it comes.
    Of a model that classifies or tags the answer is the label or the tags; a masked model fills the gaps: ___.

    With --scores each line is SCORE<TAB>TEXT: the log-probability, divided by length ** length penalty. With --n-best,
    --alternatives or --sample N > 1 there are up to N lines for each input line: LINE<TAB>TEXT, or
    LINE<TAB>SCORE<TAB>TEXT. LINE tells them apart: alternatives that read the same are shown once.
    Options that are not given are those of the model (the section decode of its settings).

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    file
        UTF-8 text, also .gz; - is standard input
    beam
        hypotheses kept a sentence, 1 = greedy
    n_best
        the N best translations of each line, best first
    length_penalty
        divide a log-probability by length ** this: 0 likes short outputs, 1 is the mean a token
    coverage_penalty
        what parts of the source that nobody looked at cost an output; needs attention
    min_length
        tokens an output has at least
    no_repeat_ngram
        no group of this many tokens comes twice in an output
    prefix
        a text that every output begins with
    prefix_file
        a file of such texts, one for each input line; an empty one forces nothing
    alternatives
        N translations of each line that differ from the first token (after the prefix) on
    sample
        N translations of each line by chance
    temperature
        of --sample: below 1 the likely becomes likelier
    top_k
        of --sample: only the K most probable tokens
    top_p
        of --sample: only the most probable tokens that hold this share together
    seed
        of --sample: the same seed gives the same outputs
    mbr
        of N candidates (the N best, or N samples) the one that agrees most with the others, by chrF
    with_
        a further model that answers together with this one: an ensemble; may be given several times
    scores
        print the score of each translation
    threads
        sentences are translated on this many cores [default: all]
    engine
        auto, ctranslate2, onnx, recurrent or torch; auto is the fastest that the folder has

    Examples
    --------
        echo "a sentence" | seqloom translate runs/x
        seqloom translate runs/x input.txt > output.txt
        seqloom translate runs/x input.txt.gz --beam 1
        seqloom translate runs/x input.txt --n-best 5 --scores
        seqloom translate runs/x input.txt --prefix "Sehr geehrte" --alternatives 5
        seqloom translate runs/x input.txt --sample 5 --temperature 0.8 --top-p 0.9
        seqloom translate runs/x input.txt --with runs/y --with runs/z
        seqloom translate runs/x input.txt --mbr 20
    """
    decoding = Decoding(
        beam=beam, n_best=n_best, length_penalty=length_penalty, coverage_penalty=coverage_penalty,
        min_length=min_length, no_repeat_ngram=no_repeat_ngram, alternatives=alternatives, sample=sample,
        temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, mbr=mbr,
    )  # fmt: skip
    path = None if file == "-" else Path(file)
    typed = path is None and sys.stdin is not None and sys.stdin.isatty()
    if typed:
        print("Type a line to translate it; Ctrl-D ends.", file=sys.stderr)
    counter = Counter(silent=typed or sys.stdout.isatty() or not sys.stderr.isatty())
    run(
        [folder, *(with_ or ())],
        path,
        sys.stdout,
        decoding,
        prefix=prefix,
        prefix_file=prefix_file,
        scores=scores,
        threads=threads,
        engine=engine,
        notice=lambda message: print(message, file=sys.stderr),
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
