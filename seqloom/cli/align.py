"""seqloom align: word alignment by attention."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from seqloom.cli.flags import DATA_FLAGS
from seqloom.cli.translate import Counter
from seqloom.data.read_as import AS_FOUND, ReadAs


def align(
    folder: Path,
    pairs: str,
    /,
    *,
    gold: Path | None = None,
    json_: bool = False,
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    threads: int | None = None,
) -> None:
    """Align the words of sentence pairs, using the attention of a model.

    Prints one row per pair in the Pharaoh format: `0-0 1-2` links source word 0 with target word 0 and source word 1
    with target word 2. Words are separated by spaces and counted from 0. A target word is linked to the source word
    with the highest attention, or to none. The row is empty for a line that is not a pair or is too long for the model.

    With --gold, prints alignment error rate, precision and recall with 95 % intervals to standard error.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`; the model needs attention
    pairs
        file.tsv, .csv, .jsonl, .tmx, .xlf, source.txt,target.txt or lines of `source ||| target` (each may be .gz)
    gold
        alignments made by people, one line per pair: 1-2 is a sure link of source word 1 and target word 2, 1p2 a
        possible link; words are counted from 1
    json_
        print one JSON object instead of rows
    threads
        number of torch threads [default: all cores]

    Examples
    --------
        seqloom align runs/x test.en,test.fr > test.align
        seqloom align runs/x hansards.src-tgt --gold hansards.gold
        seqloom align runs/x pairs.tsv --json
    """
    from seqloom.workflows.align import align as run
    from seqloom.workflows.align import pharaoh

    rows: list[Any] = []
    counter = Counter(silent=(sys.stdout.isatty() and not json_) or not sys.stderr.isatty())
    aligned = run(
        folder,
        pairs,
        rows.append if json_ else lambda links: print(pharaoh(links)),
        gold=gold,
        columns=reading,
        threads=threads,
        progress=counter.show,
    )
    counter.end()
    if json_:
        print(json.dumps(aligned.to_json() | {"alignments": rows}, ensure_ascii=False))
    elif summary := aligned.render():
        print(summary, file=sys.stderr)
