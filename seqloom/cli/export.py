"""seqloom export: a model in another form."""

import sys
from pathlib import Path

from seqloom.workflows.export import export as run


def export(
    folder: Path,
    /,
    *,
    format: str,
    out: Path | None = None,
    int8: bool = False,
    shortlist: int = 0,
    data: str | None = None,
) -> None:
    """Give a model another form: CTranslate2, Hugging Face or ONNX.

    Without --out this is the fast engine inside the folder itself, which `translate` and `serve` then use: ctranslate2
    for a Transformer, onnx for a recurrent model. With --out it is a folder of its own, for CTranslate2 (ctranslate2),
    for Hugging Face transformers (hf), or two graphs that any runtime of ONNX can drive, and a page that says how
    (onnx, which needs `pip install 'seqloom[onnx]'`).

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    format
        ctranslate2, hf or onnx
    out
        the folder to write
    int8
        of an engine: matrices of 8 bits, faster; tells what it costs in BLEU
    shortlist
        ctranslate2: only the N likeliest translations of each source token may be written, learned from the
        training pairs; faster where the vocabulary is large
    data
        of an engine: pairs to measure on what --int8 and --shortlist cost [default: the run's validation pairs]

    Examples
    --------
        seqloom export runs/x --format ctranslate2
        seqloom export runs/x --format ctranslate2 --int8 --data valid.tsv
        seqloom export runs/x --format ctranslate2 --int8 --shortlist 50
        seqloom export runs/x --format hf --out exported
        seqloom export runs/x --format onnx --out exported
        seqloom export runs/recurrent --format onnx --int8
    """
    written = run(
        folder,
        format,
        out,
        int8=int8,
        shortlist=shortlist,
        data=data,
        tell=lambda message: print(message, file=sys.stderr),
    )
    print(written)
