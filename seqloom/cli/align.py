"""seqloom align: which word translates which?"""

import json
import sys
from pathlib import Path
from typing import Any

from seqloom.cli.translate import Counter
from seqloom.workflows.align import align as run
from seqloom.workflows.align import pharaoh


def align(
    folder: Path,
    pairs: str,
    /,
    *,
    gold: Path | None = None,
    json_: bool = False,
    columns: str | None = None,
    threads: int | None = None,
) -> None:
    """Align the words of pairs with the attention of a model.

    One row a pair, in order, in the Pharaoh form: `0-0 1-2` links source word 0 with target word 0 and source word 1
    with target word 2. Words are what stands between spaces, counted from 0. A target word is linked to the source word
    it looks at most, or to none. A line that is no pair, or is longer than the model takes, has an empty row.

    With --gold the alignment error rate, precision and recall follow on standard error, with their 95 % intervals.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote; the model needs attention
    pairs
        file.tsv, file.csv, file.jsonl, source.txt,target.txt or a file of `source ||| target` lines (each also .gz)
    gold
        alignments made by people, one line a pair: i-j is a sure, ipj a possible link, words counted from 1
    json_
        one JSON object instead of rows
    columns
        which columns are source and target: numbers from 1, or names of a header or of JSON fields
    threads
        threads of torch [default: all cores]

    Examples
    --------
        seqloom align runs/x test.en,test.fr > test.align
        seqloom align runs/x hansards.src-tgt --gold hansards.gold
        seqloom align runs/x pairs.tsv --json
    """
    rows: list[Any] = []
    counter = Counter(silent=(sys.stdout.isatty() and not json_) or not sys.stderr.isatty())
    aligned = run(
        folder,
        pairs,
        rows.append if json_ else lambda links: print(pharaoh(links)),
        gold=gold,
        columns=columns,
        threads=threads,
        progress=counter.show,
    )
    counter.end()
    if json_:
        print(json.dumps(aligned.to_json() | {"alignments": rows}, ensure_ascii=False))
    elif said := aligned.render():
        print(said, file=sys.stderr)
