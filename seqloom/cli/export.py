"""seqloom export: write a model in another format."""

import sys
from pathlib import Path


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
    """Write a model in another format: compact, CTranslate2, Hugging Face or ONNX.

    Without --out, adds a fast engine to the model folder, which `translate` and `serve` then use: ctranslate2 for a
    Transformer, onnx for a recurrent model.

    With --out, writes a new folder. compact: a model folder for Seqloom itself, a quarter of the size, with matrices in
    8 bits; every command takes it, and a Transformer starts without torch. ctranslate2: a model for CTranslate2. hf: a
    model for Hugging Face transformers. onnx: two graphs for any ONNX runtime, and a page that explains how to run
    them. ONNX needs `pip install 'seqloom[onnx]'`.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`
    format
        compact, ctranslate2, hf or onnx
    out
        new folder to write
    int8
        ctranslate2 and onnx: weight matrices in 8 bits, which is faster; prints the change in BLEU
    shortlist
        ctranslate2 only: allow only the N most probable translations of each source token, learned from the
        training pairs; faster with a large vocabulary
    data
        ctranslate2 and onnx: pairs for the BLEU of --int8 and --shortlist [default: the run's validation pairs]

    Examples
    --------
        seqloom export runs/x --format ctranslate2
        seqloom export runs/x --format ctranslate2 --int8 --data valid.tsv
        seqloom export runs/x --format ctranslate2 --int8 --shortlist 50
        seqloom export runs/x --format ctranslate2 --int8 --out exported
        seqloom export runs/x --format compact --out small
        seqloom export runs/x --format hf --out exported
        seqloom export runs/x --format onnx --out exported
        seqloom export runs/recurrent --format onnx --int8
    """
    from seqloom.workflows.export import export as run

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
