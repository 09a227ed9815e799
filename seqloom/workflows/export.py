"""Give a model another form: CTranslate2 for speed, Hugging Face and ONNX for other tools.

`make_engine` is what the end of training calls: engine/ of the run folder, checked against golden.json.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.errors import DataError, ModelError, UsageError, did_you_mean
from seqloom.workflows.new_folder import check_new

if TYPE_CHECKING:
    from seqloom.config import Config
    from seqloom.evaluate.testset import Item
    from seqloom.runtime.folder import RunFolder

Tell = Callable[[str], None]
FORMATS = ("ctranslate2", "hf", "onnx")
ENGINES = {"ctranslate2": "CTranslate2", "onnx": "ONNX Runtime"}
MOST_FOR_BLEU = 1000  # validation pairs that int8 is compared on


def export(
    folder: Path,
    format: str,
    out: Path | None = None,
    *,
    int8: bool = False,
    data: str | None = None,
    shortlist: int = 0,
    tell: Tell,
) -> Path:
    """The folder that was written: `out`, or engine/ of the model without one."""
    from seqloom.runtime.folder import open_run

    if format not in FORMATS:
        raise UsageError(f"--format {format}: want {', '.join(FORMATS)}.{did_you_mean(format, FORMATS)}")
    if format == "hf" and (int8 or data or shortlist):
        raise UsageError("--int8, --data and --shortlist are for engines (ctranslate2, onnx), not for hf")
    if format == "onnx" and shortlist:
        raise UsageError("--shortlist is for --format ctranslate2, not for onnx")
    if out is not None and (int8 or data or shortlist):
        raise UsageError(
            "--int8, --data and --shortlist are for the engine inside the folder, where their price is measured; "
            f"leave --out away, then copy engine/: it is a model of {ENGINES[format]}"
        )
    if shortlist < 0:
        raise UsageError(f"--shortlist {shortlist}: want 0 (none) or more target tokens for each source token")
    run = open_run(folder)
    if out is None:
        if format == "hf":
            raise UsageError(f"--format {format}: name the folder to write with --out")
        items = read_pairs(run, data, tell) if data else None
        if format == "onnx":
            from seqloom.workflows.export_onnx import make_onnx_engine

            return make_onnx_engine(run, int8=int8, items=items, tell=tell)
        if fault := why_no_engine(run.config):
            raise UsageError(f"{folder}: {fault}.")
        made = make_engine(folder, int8=int8, items=items, shortlist=shortlist, tell=tell)
        assert made is not None  # why_no_engine has nothing against it
        return made
    check_new(out)
    if format == "ctranslate2":
        write_ctranslate2_folder(run, out)
    elif format == "onnx":
        from seqloom.workflows.export_onnx import export_onnx

        export_onnx(run, out)
    else:
        from seqloom.workflows.export_hf import export_hf

        export_hf(run, out)
    return out


def make_engine(
    folder: Path, *, int8: bool = False, items: "Sequence[Item] | None" = None, shortlist: int = 0, tell: Tell
) -> Path | None:
    """engine/ of a run folder, which `translate` and `serve` then use; None for a model that would not use it.

    fp32 must give what golden.json holds; int8 tells its BLEU change on `items`, or on the run's validation pairs.
    """
    import ctranslate2

    from seqloom.runtime.ctranslate2_model import write_ctranslate2
    from seqloom.runtime.engine_folder import restored_on_failure, write_engine
    from seqloom.runtime.folder import WEIGHTS, open_run
    from seqloom.runtime.transformer_weights import TransformerWeights

    run = open_run(folder)
    if why_no_engine(run.config):
        return None
    weights = TransformerWeights.read(run.config, run.path / WEIGHTS)

    def write(precision: str, shortlist: int = 0) -> Path:
        facts = {"engine": "ctranslate2", "version": ctranslate2.__version__, "precision": precision}

        def fill(into: Path) -> None:
            write_ctranslate2(weights, run.tokenizers, precision, into)
            if shortlist:
                add_shortlist(run, shortlist, into / "vmap.txt")

        return write_engine(run, facts | ({"shortlist": shortlist} if shortlist else {}), fill)

    with restored_on_failure(folder):
        engine = write("float32")
        check_golden(folder, engine)
        if int8 or shortlist:
            name = " with ".join(filter(None, ("int8" * int8, f"a shortlist of {shortlist}" if shortlist else "")))
            engine = tell_change(run, name, lambda: write("int8" if int8 else "float32", shortlist), items, tell)
    return engine


def tell_change(
    run: "RunFolder", name: str, write: Callable[[], Path], items: "Sequence[Item] | None", tell: Tell
) -> Path:
    """Write another engine in the place of the exact one, and tell what it costs in BLEU."""
    items = validation_items(run) if items is None else items[:MOST_FOR_BLEU]
    before = measure(run, items)
    engine = write()
    tell(describe_change(name, before, measure(run, items), len(items)))
    return engine


def why_no_engine(config: "Config") -> str:
    """Why a model gets no engine/: it has no such form, or its own settings would never use it; else empty."""
    from seqloom.runtime.engine_ctranslate2 import unlike_ours
    from seqloom.runtime.engine_folder import why_not

    if (fault := why_not(config)) or not (unlike := unlike_ours(config.decode)):
        return fault
    names = " and ".join(f"decode.{name}" for name in unlike)
    return f"CTranslate2 has other rules for {names} of this model, so the torch engine answers: nothing to make"


def add_shortlist(run: "RunFolder", num: int, file: Path) -> None:
    """Learned from the training pairs of the run."""
    import numpy as np

    from seqloom.data.store import Store
    from seqloom.runtime.shortlist import MOST_PAIRS, learn_shortlist, write_shortlist

    try:
        store = Store.open(run.path / "store")
    except (DataError, OSError) as error:
        raise UsageError(f"--shortlist is learned from the training pairs, which are gone: {error}") from None
    rows = np.arange(min(len(store), MOST_PAIRS))
    sides = [
        np.split(ids.astype(np.int64), np.cumsum(lengths)[:-1])
        for ids, lengths in (store.take(s, rows) for s in ("source", "target"))
    ]
    write_shortlist(*learn_shortlist(list(zip(*sides, strict=True)), num), run.tokenizers, file)


def check_golden(folder: Path, engine: Path, name: str = "ctranslate2") -> None:
    """An engine that answers otherwise than the weights did is not kept."""
    from seqloom.runtime.translator import Translator
    from seqloom.workflows.info import read_golden

    if not (folder / "golden.json").is_file():
        return
    golden = read_golden(folder / "golden.json")
    translator = Translator.load(folder, engine=name)
    outputs = translator.translate([pair["source"] for pair in golden])
    if translator.said:  # torch answered in its place, and would agree with itself whatever the engine is
        raise ModelError(f"{engine}: taken away again, it answers nothing: it has {', '.join(translator.said)}")
    for pair, output in zip(golden, outputs, strict=True):
        if output != pair["target"]:
            raise ModelError(
                f"{engine}: taken away again, as {pair['source']!r} came out as {output!r}, not as "
                f"{pair['target']!r} as when trained. Without it the torch engine answers."
            )


def measure(run: "RunFolder", items: "Sequence[Item]") -> float | None:
    """BLEU of the engine that is there now; None without pairs."""
    from seqloom.evaluate.metrics import bleu
    from seqloom.runtime.engine_folder import read_manifest
    from seqloom.runtime.translator import Translator

    if not items:
        return None
    translator = Translator.load(run.path, engine=read_manifest(run)["engine"])
    outputs = translator.translate([item.source for item in items])
    target_lang = translator.config.data.target_lang or translator.facts.get("target_lang") or ""
    return bleu(outputs, [list(item.references) for item in items], target_lang)


def describe_change(name: str, before: float | None, after: float | None, number: int) -> str:
    if before is None or after is None:
        return f"{name}: not measured, there are no validation pairs here; give some with --data PAIRS"
    return (
        f"{name}: BLEU {after:.2f} on {number:,} validation pairs, {after - before:+.2f} against {before:.2f} in fp32"
    )


def validation_items(run: "RunFolder") -> "list[Item]":
    """The pairs that the run was validated on; none when the token store is gone."""
    from seqloom.data.store import Store
    from seqloom.evaluate.testset import Item

    try:
        pairs = Store.open(run.path / "store", "valid").texts[:MOST_FOR_BLEU]
    except (DataError, OSError):
        return []
    return [Item((pair.line,), pair.source, pair.targets) for pair in pairs]


def read_pairs(run: "RunFolder", data: str, tell: Tell) -> "list[Item]":
    from seqloom.data.corpus import CorpusSpec
    from seqloom.workflows.evaluate import read_items

    return read_items(CorpusSpec.parse(data, None), run.config.data, False, tell)[0]


def write_ctranslate2_folder(run: "RunFolder", out: Path) -> None:
    """A model for CTranslate2 itself, with our tokenizer files beside it."""
    from seqloom.runtime.ctranslate2_model import write_ctranslate2
    from seqloom.runtime.folder import WEIGHTS
    from seqloom.runtime.transformer_weights import TransformerWeights

    weights = TransformerWeights.read(run.config, run.path / WEIGHTS)
    out.mkdir(parents=True, exist_ok=True)
    write_ctranslate2(weights, run.tokenizers, "float32", out)
    run.tokenizers.save(out)
