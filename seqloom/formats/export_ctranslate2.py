"""Export a Transformer to CTranslate2, in fp32 or int8: the same weights under its names.

The model is written from the weight file with numpy; the engine then runs without torch.
"""

from pathlib import Path

from seqloom.config import Config
from seqloom.errors import UsageError
from seqloom.files.durable import write_new
from seqloom.files.folders import restored_on_failure
from seqloom.formats.check_engine import EngineOptions, Tell, check_golden, tell_change
from seqloom.formats.shortlist import add_shortlist
from seqloom.runtime.ctranslate2_files import model_files
from seqloom.runtime.engine_ctranslate2 import unlike_ours
from seqloom.runtime.engine_folder import FOLDER, why_not, write_engine
from seqloom.runtime.folder import WEIGHTS, RunFolder, open_run
from seqloom.runtime.transformer_weights import TransformerWeights
from seqloom.text.sides import Tokenizers


def check_ctranslate2(run: RunFolder) -> None:
    """Refuse a model that CTranslate2 cannot run."""
    if fault := why_not(run.config):
        raise UsageError(f"{run.path}: {fault}.")


def export_ctranslate2(run: RunFolder, out: Path) -> None:
    """Write a model for CTranslate2 itself, with our tokenizer files in the same folder."""
    write_ctranslate2(TransformerWeights.read(run.config, run.path / WEIGHTS), run.tokenizers, "float32", out)
    run.tokenizers.save(out)


def make_ctranslate2_engine(run: RunFolder, options: EngineOptions, tell: Tell) -> Path:
    """Write engine/ of a run folder, which `translate` and `serve` then use.

    In fp32 it must give the outputs in golden.json; for int8 and a shortlist, `tell` reports the change in BLEU.
    """
    if fault := why_no_engine(run.config):
        raise UsageError(f"{run.path}: {fault}.")
    import ctranslate2

    weights = TransformerWeights.read(run.config, run.path / WEIGHTS)

    def write(precision: str, shortlist: int = 0) -> Path:
        def fill(into: Path) -> None:
            write_ctranslate2(weights, run.tokenizers, precision, into)
            if shortlist:
                add_shortlist(run, shortlist, into / "vmap.txt")

        about = {"engine": "ctranslate2", "version": ctranslate2.__version__, "precision": precision}
        return write_engine(run, fill, **about, shortlist=shortlist)

    int8, shortlist = options.int8, options.shortlist
    with restored_on_failure(run.path / FOLDER):
        engine = write("float32")
        check_golden(run.path, engine)
        if int8 or shortlist:
            name = " with ".join(filter(None, ("int8" * int8, f"a shortlist of {shortlist}" if shortlist else "")))
            engine = tell_change(
                run, name, lambda: write("int8" if int8 else "float32", shortlist), options.items, tell
            )
    return engine


def make_engine(folder: Path, tell: Tell) -> Path | None:
    """Make the engine of a model that has just been trained; None if the model would not use it."""
    run = open_run(folder)
    return None if why_no_engine(run.config) else make_ctranslate2_engine(run, EngineOptions(), tell)


def why_no_engine(config: Config) -> str:
    """Why a model gets no engine/: CTranslate2 cannot run it, or its search settings need torch; "" if it gets one."""
    if (fault := why_not(config)) or not (unlike := unlike_ours(config.decode)):
        return fault
    names = " and ".join(f"decode.{name}" for name in unlike)
    return f"CTranslate2 defines {names} in another way, so this model always uses the torch engine: no engine is made"


def write_ctranslate2(weights: TransformerWeights, tokenizers: Tokenizers, precision: str, folder: Path) -> None:
    """Write model.bin, config.json and the vocabularies into an existing folder."""
    for name, content in model_files(weights, tokenizers, precision).items():
        write_new(folder / name, content)
