"""seqloom import: parse, call the workflow, print."""

import sys
from pathlib import Path


def import_(folder: Path, /, *, out: Path) -> None:
    """Turn a folder of public weights (Hugging Face layout) into a model folder.

    Parameters
    ----------
    folder
        config.json, model.safetensors and tokenizer.json of a BERT- or GPT-2-type model; of a Marian-type one (OPUS-MT)
        source.spm, target.spm and vocab.json instead of tokenizer.json
    out
        the new model folder

    Examples
    --------
        seqloom import opus-mt-en-de --out runs/en-de
        seqloom import minilm --out runs/minilm
        seqloom train reviews.tsv --task classify --init runs/minilm --out runs/reviews
        seqloom import gpt2 --out runs/gpt2
        seqloom generate runs/gpt2 --prompt "Once upon a time"
    """
    from seqloom.workflows.import_model import import_model

    facts = import_model(folder, out)
    without = f" without {facts['lacks']}" if "lacks" in facts else ""
    print(f"{facts['params']:,} parameters imported into {out}{without}", file=sys.stderr)
    if "left_out" in facts:
        print(f"left out, as a model of this type has no place for it here: {facts['left_out']}", file=sys.stderr)
