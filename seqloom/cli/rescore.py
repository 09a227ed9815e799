"""seqloom rescore: re-rank the n-best list of any system."""

import sys
from pathlib import Path

from seqloom.cli.translate import Counter
from seqloom.workflows.rescore import rescore as run


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

    Reads `id ||| text ||| features ||| score` (or `id ||| text ||| score`), where ids count the source lines from 0 and
    a higher score is better, and ranks by THEIR SCORE + WEIGHT * OUR LOG-PROBABILITY. Prints the best candidate of each
    source line. With --reference, BLEU before, after, and of the best candidates there are (the oracle) go to
    standard error.

    The weight is given, or tuned for BLEU: on another list with --tune, or, with --reference alone, on this one.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    nbest
        the candidates, also .gz; - is standard input
    source
        the source lines that the ids count, also .gz
    reference
        a reference for each source line, also .gz
    tune
        NBEST,SOURCE,REFERENCE: the files of another list to tune the weight on
    weight
        how much our log-probability counts; 0 = not at all
    mean
        with --weight: our log-probability divided by the number of tokens
    n_best
        print every candidate, best first, with our log-probability as one more feature and the combined score
    with_
        a further model that scores together with this one: an ensemble; may be given several times
    threads
        threads of torch [default: all cores]

    Examples
    --------
        seqloom rescore runs/x test.nbest --source test.en --tune dev.nbest,dev.en,dev.fr > test.out
        seqloom rescore runs/x dev.nbest --source dev.en --reference dev.fr > dev.out
        seqloom rescore runs/x test.nbest.gz --source test.en --weight 0.4 --n-best
    """
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
