"""seqloom info --check: vouches for every part of a model folder, or names the first that is not as it was written.

weights and tokenizer   the model loads; the weights have the SHA-256 in run.json, are floating-point and finite
golden sentences        there are some, and their outputs are those of the end of training
engine                  its files are listed, unchanged and of this model
store                   its files are unchanged, and every id is one of the vocabulary
checkpoints             each has the files of its manifest, unchanged
"""

from pathlib import Path

from seqloom.data.store_checks import check_store
from seqloom.errors import ModelError
from seqloom.runtime.answering import load_answering
from seqloom.runtime.bundled import find_model
from seqloom.runtime.checkpoints import FOLDER as CHECKPOINTS
from seqloom.runtime.checkpoints import list_checkpoints, open_checkpoint, step_name
from seqloom.runtime.ctranslate2_check import check_files
from seqloom.runtime.engine_folder import FOLDER as ENGINE
from seqloom.runtime.engine_folder import read_manifest
from seqloom.runtime.folder import GOLDEN, RunFolder, open_run, read_golden
from seqloom.runtime.onnx_graph import read_graph

STORE = "store"


def check_folder(folder: Path) -> list[str]:
    """Check every part of a model folder; return what was found good. ModelError or DataError for what is not."""
    folder = find_model(folder)
    good = [f"{check_golden(folder)} golden sentences: same translations as at the end of training"]
    run = open_run(folder)
    known = "as run.json says" if run.facts.weights_sha256 else "not known: an older version made this folder"
    good.append(f"weights: finite numbers; SHA-256 {known}")
    if (folder / ENGINE).exists():
        good.append(f"engine: {check_engine(run)}, made from these weights")
    if (folder / STORE).exists():
        check_store(folder / STORE, len(run.tokenizers.source), len(run.tokenizers.target))
        good.append("store: whole")
    if steps := list_checkpoints(folder / CHECKPOINTS):
        for step in steps:
            open_checkpoint(folder / CHECKPOINTS / step_name(step))
        good.append(f"checkpoints: {len(steps)} whole")
    return good


def check_golden(folder: Path) -> int:
    """Translate the sources of golden.json; ModelError unless all come out as when training ended. Return how many."""
    golden = read_golden(folder / GOLDEN)
    if not golden or not all(pair["source"].strip() for pair in golden):
        raise ModelError(f"{folder / GOLDEN}: has no sentences, or empty ones, so nothing can be checked.")
    got = load_answering([folder], engine="torch").translate([pair["source"] for pair in golden])
    wrong = [(pair, text) for pair, text in zip(golden, got, strict=True) if text != pair["target"]]
    if wrong:
        pair, text = wrong[0]
        raise ModelError(
            f"{folder}: {len(wrong)} of {len(golden)} golden sentences came out differently, first "
            f"{pair['source']!r}: {pair['target']!r} when trained, {text!r} now. The weights or the tokenizer changed."
        )
    return len(golden)


def check_engine(run: RunFolder) -> str:
    """Check the files of an engine as a load would, without loading it; return the name of its library."""
    manifest, folder = read_manifest(run), run.path / ENGINE
    try:
        if manifest.engine == "ctranslate2":
            check_files(folder, run.config, run.tokenizers)
        else:
            for name in ("encoder.onnx", "step.onnx"):
                read_graph(folder / name)
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: not an engine of this model: {error}.") from None
    return manifest.engine
