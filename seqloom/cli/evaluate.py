"""seqloom evaluate: how good is a model?"""

import json
import sys
from pathlib import Path

from seqloom.workflows.evaluate import evaluate as run
from seqloom.workflows.evaluate import render


def evaluate(
    folder: Path,
    pairs: str,
    /,
    *,
    beam: int | None = None,
    against: Path | None = None,
    json_: bool = False,
    columns: str | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
) -> None:
    """Measure a model on pairs it has not seen.

    BLEU, chrF and TER (by sacrebleu), exact match, token and character error rate, each with its 95 % interval;
    scores by source length; the worst outputs. Further columns are further references, and so are further lines
    of the same source.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    pairs
        file.tsv, file.csv, file.jsonl or source.txt,target.txt (each also .gz)
    beam
        hypotheses kept a sentence, 1 = greedy [default: the model's decode.beam]
    against
        another model folder: translate with it too, and tell which differences are significant
    json_
        one JSON object instead of a text
    columns
        which columns to use, by number or name: source, target, further references
    threads
        threads of torch [default: all cores]
    allow_loss
        go on when more than 5 % of the lines cannot be used

    Examples
    --------
        seqloom evaluate runs/x test.tsv
        seqloom evaluate runs/x test.en,test.fr --beam 1 --json
        seqloom evaluate runs/x test.tsv --against runs/y
    """
    report = run(
        folder,
        pairs,
        columns=columns,
        beam=beam,
        against=against,
        threads=threads,
        allow_loss=allow_loss,
        say=lambda message: print(message, file=sys.stderr),
    )
    print(json.dumps(report.to_json(), ensure_ascii=False, allow_nan=False) if json_ else render(report))
