"""Checks that a fast engine must pass before it is kept: in fp32 the golden answers; in int8 the change in BLEU."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.data.store import Store
from seqloom.errors import DataError, ModelError
from seqloom.metrics.testset import Item
from seqloom.runtime.engine_folder import read_manifest
from seqloom.runtime.folder import RunFolder, read_golden
from seqloom.runtime.translator import Translator

Tell = Callable[[str], None]
MOST_FOR_BLEU = 1000  # validation pairs that int8 is compared on


@dataclass(frozen=True)
class EngineOptions:
    """Options of `export` for an engine."""

    int8: bool = False
    items: Sequence[Item] | None = None  # pairs to measure the change of BLEU on; None = the run's validation pairs
    shortlist: int = 0  # target tokens per source token; 0 = no shortlist


def tell_change(run: RunFolder, name: str, write: Callable[[], Path], items: Sequence[Item] | None, tell: Tell) -> Path:
    """Replace the fp32 engine by this one, and report the change in BLEU."""
    items = validation_items(run) if items is None else items[:MOST_FOR_BLEU]
    before = measure(run, items)
    engine = write()
    tell(describe_change(name, before, measure(run, items), len(items)))
    return engine


def check_golden(folder: Path, engine: Path, name: str = "ctranslate2") -> None:
    """Refuse an engine whose outputs differ from those in golden.json, which the weights gave when training ended."""
    if not (folder / "golden.json").is_file():
        return
    golden = read_golden(folder / "golden.json")
    translator = Translator.load(folder, engine=name)
    outputs = translator.translate([pair["source"] for pair in golden])
    if translator.said:  # torch answered instead of the engine, and of course agrees with itself
        raise ModelError(f"{engine}: removed, because the engine did not translate: {', '.join(translator.said)}")
    for pair, output in zip(golden, outputs, strict=True):
        if output != pair["target"]:
            raise ModelError(
                f"{engine}: removed, because it translates {pair['source']!r} to {output!r}, and not to "
                f"{pair['target']!r} as when training ended. The torch engine is used instead."
            )


def measure(run: RunFolder, items: Sequence[Item]) -> float | None:
    """Return the BLEU of the engine that is now in the folder; None if there are no pairs."""
    from seqloom.metrics.measures import bleu  # sacrebleu takes a second to import

    if not items:
        return None
    translator = Translator.load(run.path, engine=read_manifest(run).engine)
    outputs = translator.translate([item.source for item in items])
    target_lang = translator.config.data.target_lang or translator.facts.get("target_lang") or ""
    return bleu(outputs, [list(item.references) for item in items], target_lang)


def describe_change(name: str, before: float | None, after: float | None, number: int) -> str:
    if before is None or after is None:
        return f"{name}: BLEU not measured: the run has kept no validation pairs; give some with --data PAIRS"
    return (
        f"{name}: BLEU {after:.2f} on {number:,} validation pairs, {after - before:+.2f} against {before:.2f} in fp32"
    )


def validation_items(run: RunFolder) -> list[Item]:
    """Return the validation pairs of the run; none if its token store was deleted."""
    try:
        pairs = Store.open(run.path / "store", "valid").texts[:MOST_FOR_BLEU]
    except (DataError, OSError):
        return []
    return [Item((pair.line,), pair.source, pair.targets) for pair in pairs]
