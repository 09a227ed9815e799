"""seqloom import: turn public weights into a model folder."""

import sys
from pathlib import Path


def import_(folder: Path, /, *, out: Path) -> None:
    """Turn a folder of public weights (Hugging Face layout) into a model folder.

    It also reads the recurrent model inside the package g2p_en (words to phonemes; `pip install g2p_en --no-deps`).

    Parameters
    ----------
    folder
        folder of a BERT or GPT-2 type model, with config.json, model.safetensors and tokenizer.json; or of a Marian
        type model (OPUS-MT), with source.spm, target.spm and vocab.json instead of tokenizer.json; or g2p_en, for
        the model inside that package
    out
        new model folder

    Examples
    --------
        seqloom import opus-mt-en-de --out runs/en-de
        seqloom import minilm --out runs/minilm
        seqloom train reviews.tsv --task classify --init runs/minilm --out runs/reviews
        seqloom import g2p_en --out runs/g2p
        seqloom import gpt2 --out runs/gpt2
        seqloom generate runs/gpt2 --prompt "Once upon a time"
    """
    from seqloom.formats.import_folder import import_model

    facts = import_model(folder, out)
    without = f" without {facts.lacks}" if facts.lacks else ""
    print(f"{facts.params:,} parameters imported into {out}{without}", file=sys.stderr)
    if facts.left_out:
        print(f"left out, because Seqloom's model of this type does not use it: {facts.left_out}", file=sys.stderr)
