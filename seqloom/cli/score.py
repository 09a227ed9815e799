"""seqloom score: log-probabilities of given targets."""

import json
import sys
from pathlib import Path
from typing import Annotated

from seqloom.cli.flags import BULK_FLAGS, DATA_FLAGS, NO_BULK, BulkFlags
from seqloom.cli.translate import Counter
from seqloom.data.read_as import AS_FOUND, ReadAs
from seqloom.errors import UsageError
from seqloom.workflows.models import model_and_input


def score(
    folder: str,
    pairs: str | None = None,
    /,
    *,
    with_: list[Path] | None = None,
    per_token: bool = False,
    json_: bool = False,
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    threads: int | None = None,
    bulk: Annotated[BulkFlags, BULK_FLAGS] = NO_BULK,
) -> None:
    """Print the log-probability of given targets.

    Prints one row per pair, in order: LOG_PROB<TAB>MEAN. LOG_PROB is the natural logarithm of the target's probability
    given its source, including the end-of-sentence token; MEAN is LOG_PROB divided by the number of tokens. A line that
    is not a pair or is too long for the model gives `nan<TAB>nan`, so rows and pairs stay aligned. A header line
    gets no row. The skipped lines and the perplexity of all pairs are printed to standard error.

    With --out, a large file is scored in numbered chunks by --workers processes or a Ray cluster. The rows are those of
    `seqloom score --threads 1`. After Ctrl-C or a kill, the same command continues.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`, or the name of a bundled model; may be left out: en-fr
    pairs
        file.tsv, .csv, .jsonl, .tmx, .xlf or source.txt,target.txt (each also .gz), or - for standard input
    with_
        another model, to score with an ensemble; may be given several times
    per_token
        add a third column: each target token with its log-probability, PIECE:LOG_PROB
    json_
        print one JSON object instead of rows
    threads
        number of torch threads [default: all cores]

    Examples
    --------
        seqloom score pairs.tsv
        seqloom score runs/x pairs.tsv > scores.tsv
        seqloom score runs/x test.en,test.fr --with runs/y --json
        seqloom score runs/x pairs.tsv --per-token
        seqloom score runs/x big.tsv.gz -o scores.tsv.gz --workers 8
    """
    bulk.check()
    model, given = model_and_input(folder, pairs)
    if given is None:
        raise UsageError(f"score {folder}: name the file of pairs, too: seqloom score {folder} pairs.tsv")
    if bulk.out is not None:
        if json_:
            raise UsageError("--json and --out: --out writes rows; give only one of them")
        score_bulk([model, *(with_ or ())], given, per_token, reading, threads, bulk)
        return
    from seqloom.workflows.score import Scored
    from seqloom.workflows.score import score as run

    rows: list[Scored] = []
    counter = Counter(silent=(sys.stdout.isatty() and not json_) or not sys.stderr.isatty())
    summary = run(
        [model, *(with_ or ())],
        given,
        rows.append if json_ else lambda scored: print(scored.render()),
        per_token=per_token,
        columns=reading,
        threads=threads,
        progress=counter.show,
    )
    counter.end()
    if json_:
        print(json.dumps(summary.to_json() | {"pairs": [row.to_json() for row in rows]}, ensure_ascii=False))
    else:
        print(summary.render(), file=sys.stderr)


def score_bulk(
    folders: list[Path], pairs: str, per_token: bool, reading: ReadAs, threads: int | None, bulk: BulkFlags
) -> None:
    """Score a file in chunks."""
    from seqloom.workflows.bulk import Crew, bulk_score

    assert bulk.out is not None
    crew = Crew(bulk.out, bulk.workers, bulk.ray, threads or 1)
    say = lambda message: print(message, file=sys.stderr)  # noqa: E731
    print(bulk_score(folders, pairs, crew, per_token=per_token, columns=reading, say=say).render(), file=sys.stderr)
