"""seqloom info: what is in this folder?"""

import json
import sys
from pathlib import Path


def info(folder: Path, /, *, json_: bool = False, check: bool = False) -> None:
    """Tell what a model folder holds.

    Reads the settings, the run and the header of the weights; a cut or damaged weight file is found.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    json_
        one JSON object instead of a text
    check
        also translate the sentences kept in golden.json and compare

    Examples
    --------
        seqloom info runs/x
        seqloom info runs/x --json
        seqloom info runs/x --check
    """
    from seqloom.workflows.info import check_golden, describe, render

    about = describe(folder)
    print(json.dumps(about, ensure_ascii=False) if json_ else render(folder, about))
    if check:
        print(f"{check_golden(folder)} golden sentences translated as when training ended", file=sys.stderr)
