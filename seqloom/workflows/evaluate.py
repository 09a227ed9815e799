"""Measure a model on pairs: read them, translate the sources, score the outputs, perhaps against another model."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import TASKS
from seqloom.errors import UsageError
from seqloom.runtime.folder import open_run
from seqloom.workflows.decoding import Decoding
from seqloom.workflows.evaluate_denoise import evaluate_denoise
from seqloom.workflows.evaluate_labels import evaluate_labels
from seqloom.workflows.evaluate_language import evaluate_language
from seqloom.workflows.evaluate_masked import evaluate_masked
from seqloom.workflows.evaluated_pairs import read_pairs
from seqloom.workflows.seen import count_seen, seen_warning

if TYPE_CHECKING:
    from seqloom.config import DataConfig
    from seqloom.data.corpus import CorpusSpec
    from seqloom.evaluate.metrics import Measurement
    from seqloom.evaluate.report import Report
    from seqloom.evaluate.testset import Item
    from seqloom.runtime.translator import Translator

    Measurements = dict[str, Measurement]

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
    task = open_run(folder).config.task.name
    if measure := OF_TASK.get(task):
        if others or (decoding and decoding != Decoding()):
            raise UsageError(
                f"{folder} is of the task {task}, which is measured alone and without a search: {NO_SEARCH}"
            )
        if against and task not in COMPARED:
            raise UsageError(f"{folder} is of the task {task}, and --against compares: {', '.join(COMPARED_AT_ALL)}")
        compared = {"against": against} if against else {}
        return measure(folder, pairs, columns=columns, threads=threads, allow_loss=allow_loss, say=say, **compared)
    from seqloom.data.corpus import CorpusSpec

    decoding = decoding or Decoding()
    spec = CorpusSpec.parse(pairs, columns)
    from seqloom.evaluate.report import make_report
    from seqloom.runtime.translator import Translator

    start = time.perf_counter()
    translator = Translator.load_ensemble([folder, *others], threads=threads, notice=say)
    load_seconds = time.perf_counter() - start
    other = Translator.load(against, threads=threads, notice=say) if against is not None else None
    items, excluded = read_items(spec, translator.config.data, allow_loss, say)
    outputs = decode_items(translator, items, decoding, say)
    rivals = decode_items(other, items, decoding, say) if other is not None else None
    rival = (str(against), rivals.texts) if rivals is not None else None
    baseline = ("first sentence", first_sentences(items)) if task == "summarise" else None
    known, rival_known, why_not = foresee(translator, other, items, say) if task == "dialogue" else ({}, {}, "")
    seen = most_seen([folder, *others], translator, [item.source for item in items])
    return make_report(
        items,
        outputs.texts,
        target_lang=translator.config.data.target_lang or translator.facts.get("target_lang") or "",
        task=task,
        rival=rival or baseline,
        baseline=baseline if rival else None,
        known=known,
        rival_known=rival_known,
        about=describe(translator, outputs, len(items), load_seconds)
        | {"model": str(folder), "with": [str(member) for member in others]}
        | {"pairs": pairs, "excluded": excluded, "seen_in_training": seen},
        warnings=[
            *([f"Perplexity is not compared: {why_not}."] if why_not else []),
            *(searched_otherwise(outputs.search, rivals.search) if rivals is not None else []),
            *seen_warning(seen, len(items)),
            *split_warning(translator, items),
        ],
    )


OF_TASK: dict[str, Callable[..., Any]] = {  # what is measured otherwise than translations
    "language": evaluate_language,
    "classify": evaluate_labels,
    "tag": evaluate_labels,
    "masked": evaluate_masked,
    "denoise": evaluate_denoise,
}
COMPARED = ("classify", "tag", "language")  # of these: --against another model
COMPARED_AT_ALL = (*COMPARED, *(task for task in TASKS if task not in OF_TASK))
NO_SEARCH = "leave further folders and the options of search out"


def render(report: "Report") -> str:
    """The report as a text for people."""
    if hasattr(report, "render"):  # that of a task of its own
        return str(report.render())
    from seqloom.evaluate.render import render as as_text

    return as_text(report)


def split_warning(translator: "Translator", items: list["Item"]) -> list[str]:
    split = translator.count_split([item.source for item in items])
    if not split:
        return []
    return [f"{split:,} of {len(items):,} sources are longer than the model is used to: translated by sentence."]


def first_sentences(items: list["Item"]) -> list[str]:
    """What a summary must beat: the begin of the text itself."""
    from seqloom.runtime.sentences import split_sentences

    return [next(iter(split_sentences(item.source)), "").strip() for item in items]


def foresee(
    translator: "Translator", other: "Translator | None", items: list["Item"], say: Say
) -> tuple["Measurements", "Measurements", str]:
    """Perplexity of both models; of the other one only where it is asked for the same tokens, else why not."""
    ours = {"perplexity": measure_perplexity(translator, items, say)}
    if other is None:
        return ours, {}, ""
    if other.tokenizers.target.fingerprint != translator.tokenizers.target.fingerprint:
        return ours, {}, "the other model has another tokenizer, and perplexity depends on what a token is"
    theirs = {"perplexity": measure_perplexity(other, items, say)}
    tokens = [found["perplexity"].statistics[:, 1].tolist() for found in (ours, theirs)]
    if tokens[0] != tokens[1]:
        return ours, {}, "one of the two models cannot take all of the answers in one piece"
    return ours, theirs, ""


def measure_perplexity(translator: "Translator", items: list["Item"], say: Say) -> "Measurement":
    """How well the model foresees the answers that people gave, all of each item."""
    from seqloom.evaluate.metrics import perplexity
    from seqloom.runtime.scoring import score_pairs

    rows = [(place, item, answer) for place, item in enumerate(items) for answer in item.references]
    texts = [item.source for _, item, _ in rows], [answer for _, _, answer in rows]
    lines = [item.lines[0] for _, item, _ in rows]
    log_probs, num_tokens = [0.0] * len(items), [0] * len(items)
    for (place, _, _), score in zip(rows, score_pairs(translator, *texts, lines=lines, warn=say), strict=True):
        if score is not None:  # what is longer than the model takes is said
            log_probs[place] += score.log_prob
            num_tokens[place] += len(score.ids)
    return perplexity(log_probs, num_tokens)


def searched_otherwise(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Each model is searched as its own settings say where no option does; where these differ, that is a part of the
    difference.
    """
    names = [name for name in ours if ours[name] != theirs[name]]
    rows = ", ".join(f"{name} {ours[name]} here and {theirs[name]} there" for name in names)
    return [f"The two models were searched differently ({rows}): give the options to compare them alike."] * bool(names)


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
    from seqloom.evaluate.testset import merge_sources

    pairs, unusable = read_pairs(spec, config, allow_loss, say)
    return merge_sources((pair.line, pair.source, pair.targets) for pair in pairs), unusable


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
    encoded = translator.tokenizers.source.encode_batch(sources)
    found = [count for folder in folders if (count := count_seen(folder, encoded)) is not None]
    return max(found, default=None)
