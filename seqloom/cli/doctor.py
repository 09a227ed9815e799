"""seqloom doctor: check a data file."""

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from seqloom.cli.flags import DATA_FLAGS, DATA_OPTIONS
from seqloom.data.read_as import AS_FOUND, ReadAs
from seqloom.errors import DataError, UsageError, did_you_mean


def doctor(
    *pairs: Annotated[str, Parameter(allow_leading_hyphen=True)],  # - is standard input
    valid: str | None = None,
    test: str | None = None,
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    json_: bool = False,
    fix: Path | None = None,
    allow_loss: bool = False,
    max_chars: int | None = None,
    task: str = "translate",
) -> int:
    """Check a data file and report what is wrong with it.

    The report shows each finding with its severity, how often it occurs, the first lines and what to do. Severity
    `hard`: `train` refuses the file (exit code 3). `excluded`: `train` skips these lines. `kept`: `train` uses these
    lines, but you should look at them. The checked files are never changed.

    Parameters
    ----------
    pairs
        file.tsv, .csv, .jsonl, .tmx, .xlf or source.txt,target.txt (each may be .gz), or - for standard input
    valid
        validation pairs; the report also shows their overlap with PAIRS
    test
        test pairs; the report also shows their overlap with PAIRS
    json_
        print one JSON object instead of text
    fix
        write the pairs without a finding to this new .tsv or .jsonl file, and put swapped columns in the right order;
        FIX.report.tsv lists every line that was left out or changed
    allow_loss
        accept more than 5 % unusable lines
    max_chars
        exclude texts with more characters; plain text is cut instead [default: 5000, as data.max_chars]
    task
        task of the data, as in `train`: classify reads label<TAB>text, tag tokens<TAB>tags, masked plain text

    Examples
    --------
        seqloom doctor pairs.tsv
        seqloom doctor train.en.gz,train.fr.gz --valid dev.en,dev.fr --test test.en,test.fr
        seqloom doctor table.csv --columns english,french --fix clean.tsv
        seqloom doctor reviews.tsv --task classify --test test.tsv
        zcat big.tsv.gz | seqloom doctor - --json
    """
    from seqloom.workflows.doctor import doctor as examine

    own = [name for name in doctor.__kwdefaults__ or () if name != "reading"]
    options = ["--" + name.strip("_").replace("_", "-") for name in (*own, *DATA_OPTIONS)]
    for word in pairs:
        if word.startswith("--"):
            raise UsageError(f"{word}: no such option.{did_you_mean(word, options)} Options: {', '.join(options)}")
    checkup = examine(pairs, valid, test, reading, allow_loss, max_chars, fix, task)
    print(json.dumps(checkup.to_json(), ensure_ascii=False) if json_ else checkup.render())
    if checkup.fixed:
        print(checkup.fixed, file=sys.stderr)
    return DataError.exit_code if checkup.hard else 0
