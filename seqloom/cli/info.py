"""seqloom info: describe a model folder."""

import json
import sys
from pathlib import Path


def info(folder: Path, /, *, json_: bool = False, check: bool = False) -> None:
    """Show what is in a model folder.

    Reads the settings, the records of the run and the header of the weight file; detects a cut or damaged weight file.
    For a run that has not finished, it shows the last step. The last lines show the size of each part of the folder
    and what is lost when you delete it.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`, or the name of a bundled model
    json_
        print one JSON object instead of text
    check
        also check every part: the SHA-256 and the numbers of the weights, the outputs for the sentences in golden.json,
        the files of the engine, the token store and the checkpoints

    Examples
    --------
        seqloom info en-fr
        seqloom info runs/x
        seqloom info runs/x --json
        seqloom info runs/x --check
    """
    from seqloom.workflows.info import describe, render

    about = describe(folder, say=lambda message: print(message, file=sys.stderr))
    print(json.dumps(about.to_json(), ensure_ascii=False) if json_ else render(folder, about))
    if check:
        from seqloom.workflows.check_folder import check_folder  # torch

        print(*check_folder(folder), sep="\n", file=sys.stderr)
