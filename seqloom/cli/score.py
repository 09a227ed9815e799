"""seqloom score: how probable are given targets?"""

import json
import sys
from pathlib import Path

from seqloom.cli.translate import Counter
from seqloom.workflows.score import Scored
from seqloom.workflows.score import score as run


def score(
    folder: Path,
    pairs: str,
    /,
    *,
    with_: list[Path] | None = None,
    per_token: bool = False,
    json_: bool = False,
    columns: str | None = None,
    threads: int | None = None,
) -> None:
    """Tell how probable a model finds given targets.

    One row a pair, in order: LOG_PROB<TAB>MEAN, the natural logarithm of the target's probability given its source, the
    end of the sentence counted, and the same divided by the number of tokens. A line that is no pair, or is longer than
    the model takes, is `nan<TAB>nan`, so that rows and pairs never shift. What was left out and the perplexity of all
    pairs go to standard error. A header has no row.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    pairs
        file.tsv, file.csv, file.jsonl or source.txt,target.txt (each also .gz), or - for standard input
    with_
        a further model that scores together with this one: an ensemble; may be given several times
    per_token
        add a third cell: each token of the target with its log-probability, PIECE:LOG_PROB
    json_
        one JSON object instead of rows
    columns
        which columns are source and target: numbers from 1, or names of a header or of JSON fields
    threads
        threads of torch [default: all cores]

    Examples
    --------
        seqloom score runs/x pairs.tsv > scores.tsv
        seqloom score runs/x test.en,test.fr --with runs/y --json
        seqloom score runs/x pairs.tsv --per-token
    """
    rows: list[Scored] = []
    counter = Counter(silent=(sys.stdout.isatty() and not json_) or not sys.stderr.isatty())
    summary = run(
        [folder, *(with_ or ())],
        pairs,
        rows.append if json_ else lambda scored: print(scored.render()),
        per_token=per_token,
        columns=columns,
        threads=threads,
        progress=counter.show,
    )
    counter.end()
    if json_:
        print(json.dumps(summary.to_json() | {"pairs": [row.to_json() for row in rows]}, ensure_ascii=False))
    else:
        print(summary.render(), file=sys.stderr)
