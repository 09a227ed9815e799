"""Measure a model on pairs: read them, translate the sources, score the outputs, perhaps against another model."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.errors import DataError
from seqloom.workflows.decoding import Decoding

if TYPE_CHECKING:
    from seqloom.config import DataConfig
    from seqloom.data.corpus import CorpusSpec
    from seqloom.evaluate.report import Report
    from seqloom.evaluate.testset import Item
    from seqloom.runtime.translator import Translator

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outputs:
    texts: list[str]
    seconds: float  # of translating alone
    search: dict[str, Any]  # the options that held


def evaluate(
    folder: Path,
    pairs: str,
    decoding: Decoding | None = None,
    *,
    others: Sequence[Path] = (),
    columns: str | None = None,
    against: Path | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> "Report":
    """The report on the model in `folder`, answering together with `others`; `say` is told what was left out or cut."""
    from seqloom.data.corpus import CorpusSpec

    decoding = decoding or Decoding()
    spec = CorpusSpec.parse(pairs, columns)
    from seqloom.evaluate.report import make_report
    from seqloom.runtime.translator import Translator

    start = time.perf_counter()
    translator = Translator.load_ensemble([folder, *others], threads=threads)
    load_seconds = time.perf_counter() - start
    other = Translator.load(against) if against is not None else None
    items, excluded = read_items(spec, translator.config.data, allow_loss, say)
    outputs = decode_items(translator, items, decoding, say)
    rival = (str(against), decode_items(other, items, decoding, say).texts) if other is not None else None
    seen = most_seen([folder, *others], translator, [item.source for item in items])
    return make_report(
        items,
        outputs.texts,
        target_lang=translator.config.data.target_lang or translator.facts.get("target_lang") or "",
        rival=rival,
        about=describe(translator, outputs, len(items), load_seconds)
        | {"model": str(folder), "with": [str(member) for member in others]}
        | {"pairs": pairs, "excluded": excluded, "seen_in_training": seen},
        warnings=seen_warning(seen, len(items)),
    )


def render(report: "Report") -> str:
    """The report as a text for people."""
    from seqloom.evaluate.render import render as as_text

    return as_text(report)


def describe(translator: "Translator", outputs: Outputs, num_items: int, load_seconds: float) -> dict[str, Any]:
    facts = {name: translator.facts.get(name) for name in ("params", "step", "data_hash")}
    return facts | {
        "beam": outputs.search["beam"],
        "search": outputs.search,
        "sentences_per_second": num_items / outputs.seconds,
        "translate_seconds": outputs.seconds,
        "load_seconds": load_seconds,
    }


def read_items(
    spec: "CorpusSpec", config: "DataConfig", allow_loss: bool, say: Say
) -> tuple[list["Item"], dict[str, int]]:
    """The test items, and how many lines were left out for which reason; what the doctor calls hard is refused."""
    from seqloom.data.corpus import Pair, checked_rows
    from seqloom.data.doctor import account
    from seqloom.data.findings import Finding
    from seqloom.evaluate.testset import merge_sources

    pairs: list[Pair] = []
    faults: dict[str, Finding] = {}
    for row in checked_rows(spec, config, references=True):
        if isinstance(row, Pair):
            pairs.append(row)
        else:
            faults.setdefault(row.kind, Finding(row.kind)).add(row.line, row.detail)
    found = account(spec, len(pairs), faults, allow_loss)
    if found.hard:
        raise DataError(f"{found.render()}\n`seqloom doctor {spec.name}` tells more; nothing was evaluated.")
    if found.findings:
        say(found.render())
    return merge_sources((pair.line, pair.source, pair.targets) for pair in pairs), found.unusable


def translate_items(translator: "Translator", items: list["Item"], beam: int | None, say: Say) -> Outputs:
    return decode_items(translator, items, Decoding(beam=beam), say)


def decode_items(translator: "Translator", items: list["Item"], decoding: Decoding, say: Say) -> Outputs:
    start = time.perf_counter()
    lines = [item.lines[0] for item in items]
    found = decoding.run(translator, [item.source for item in items], lines=lines, warn=say)
    seconds = time.perf_counter() - start
    search = asdict(translator.options(decoding.beam, decoding.candidates, **decoding.settings))
    return Outputs([ranked[0].text for ranked in found], seconds, search | {"mbr": decoding.mbr})


def most_seen(folders: list[Path], translator: "Translator", sources: list[str]) -> int | None:
    """Members of an ensemble were perhaps trained on different data: the most that one of them knows."""
    found = [count for folder in folders if (count := count_seen(folder, translator, sources)) is not None]
    return max(found, default=None)


def count_seen(folder: Path, translator: "Translator", sources: list[str]) -> int | None:
    """How many of the sources are among those of the training data; None when the token store is gone."""
    from seqloom.data.store import Store
    from seqloom.evaluate.overlap import count_known

    try:
        store = Store.open(folder / "store")
    except (DataError, OSError):
        return None
    test_ids = translator.tokenizers.source.encode_batch(sources)
    return count_known(test_ids, store.source_lengths, lambda rows: store.take("source", rows)[0])


def seen_warning(seen: int | None, num_items: int) -> list[str]:
    if not seen:
        return []
    return [
        f"{seen:,} of {num_items:,} sources were also in the training data: "
        "on those the scores tell what the model remembers, not how it does on new text."
    ]
