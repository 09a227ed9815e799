"""seqloom rescore: re-rank the n-best list of any system."""

import sys
from pathlib import Path

from seqloom.cli.translate import Counter


def rescore(
    folder: Path,
    nbest: Path,
    /,
    *,
    source: Path,
    reference: Path | None = None,
    tune: str | None = None,
    weight: float | None = None,
    mean: bool = False,
    n_best: bool = False,
    with_: list[Path] | None = None,
    threads: int | None = None,
) -> None:
    """Re-rank the n-best list of any system with a model.

    Reads lines `id ||| text ||| features ||| score` (or `id ||| text ||| score`). An id is the number of a source line,
    counted from 0; a higher score is better. Ranks candidates by THEIR SCORE + WEIGHT * OUR LOG-PROBABILITY and prints
    the best candidate of each source line. With --reference, prints three BLEU scores to standard error: before
    re-ranking, after re-ranking, and of the best possible choice (the oracle).

    Give the weight with --weight, or tune it for BLEU: on another list with --tune, or on this one with --reference.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`
    nbest
        file of candidates, may be .gz; - is standard input
    source
        file of the source lines, may be .gz
    reference
        file with one reference per source line, may be .gz
    tune
        NBEST,SOURCE,REFERENCE: the files of another list, on which the weight is tuned
    weight
        weight of our log-probability; 0 = ignore it
    mean
        with --weight: divide our log-probability by the number of tokens
    n_best
        print all candidates, best first, with our log-probability as a further feature and the combined score
    with_
        another model, to score with an ensemble; may be given several times
    threads
        number of torch threads [default: all cores]

    Examples
    --------
        seqloom rescore runs/x test.nbest --source test.en --tune dev.nbest,dev.en,dev.fr > test.out
        seqloom rescore runs/x dev.nbest --source dev.en --reference dev.fr > dev.out
        seqloom rescore runs/x test.nbest.gz --source test.en --weight 0.4 --n-best
    """
    from seqloom.workflows.rescore import rescore as run

    counter = Counter(silent=not sys.stderr.isatty())

    def say(message: str) -> None:
        counter.end()
        counter.shown = False
        print(message, file=sys.stderr)

    lines = run(
        [folder, *(with_ or ())],
        nbest,
        source,
        reference=reference,
        tune=tune,
        weight=weight,
        mean=mean,
        whole_lists=n_best,
        threads=threads,
        say=say,
        progress=counter.show,
    )
    counter.end()
    for line in lines:
        print(line)
