"""seqloom doctor: what is wrong with this file?"""

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from seqloom.errors import DataError, UsageError, did_you_mean


def doctor(
    *pairs: Annotated[str, Parameter(allow_leading_hyphen=True)],  # - is standard input
    valid: str | None = None,
    test: str | None = None,
    columns: str | None = None,
    json_: bool = False,
    fix: Path | None = None,
    allow_loss: bool = False,
    max_chars: int | None = None,
    task: str = "translate",
) -> int:
    """Look for what is wrong with a file of pairs.

    One pass tells each finding with its severity, how often, the first lines and what to do. Hard: `train` would refuse
    (exit code 3). Excluded: these lines are not used. Kept: used, but worth a look. No file is changed.

    Parameters
    ----------
    pairs
        file.tsv, file.csv, file.jsonl or source.txt,target.txt (each also .gz), or - for standard input
    valid
        pairs to validate on: also told is what they share with PAIRS
    test
        pairs to test on: also told is what they share with PAIRS
    columns
        which columns are source and target: numbers from 1, or names of a header or of JSON fields
    json_
        one JSON object instead of a text
    fix
        of a file of pairs: write the usable ones here (a new .tsv or .jsonl), the others into FIX.report.tsv
    allow_loss
        more than 5 % unusable lines are no hard fault
    max_chars
        a longer text is left out, but plain text is cut; 5000 unless told, as data.max_chars
    task
        what the files are for, as in `train`: classify reads label<TAB>text, tag tokens<TAB>tags, masked plain text

    Examples
    --------
        seqloom doctor pairs.tsv
        seqloom doctor train.en.gz,train.fr.gz --valid dev.en,dev.fr --test test.en,test.fr
        seqloom doctor table.csv --columns english,french --fix clean.tsv
        seqloom doctor reviews.tsv --task classify --test test.tsv
        zcat big.tsv.gz | seqloom doctor - --json
    """
    from seqloom.workflows.doctor import doctor as examine

    options = ["--" + name.strip("_").replace("_", "-") for name in doctor.__kwdefaults__ or ()]
    for word in pairs:
        if word.startswith("--"):
            raise UsageError(f"{word}: no such option.{did_you_mean(word, options)} Options: {', '.join(options)}")
    checkup = examine(pairs, valid, test, columns, allow_loss, max_chars, fix, task)
    print(json.dumps(checkup.to_json(), ensure_ascii=False) if json_ else checkup.render())
    if checkup.fixed:
        print(checkup.fixed, file=sys.stderr)
    return DataError.exit_code if checkup.hard else 0
