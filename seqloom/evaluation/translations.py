"""Evaluates models that write text: translates the sources of a test file and scores the outputs.

Optionally beside another model, or beside the simple baseline of the task.
"""

import dataclasses
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqloom.config import TASKS, DataConfig
from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.decode.options import SearchRequest
from seqloom.evaluation.exchanged_sides import exchanged_warning
from seqloom.evaluation.records import Records, Say, read_records
from seqloom.evaluation.report import Report, make_report
from seqloom.evaluation.seen_in_training import count_seen, seen_warning
from seqloom.metrics.measures import Measurement, perplexity
from seqloom.metrics.testset import Item
from seqloom.runtime.scoring import score_pairs
from seqloom.runtime.sentences import split_sentences
from seqloom.runtime.translator import Translator

Measurements = dict[str, Measurement]
MODEL_FILES = (".safetensors", ".toml", ".json")  # endings of files in a model folder


@dataclass(frozen=True)
class Side:
    """One side of a comparison: models that answer together, or a file with the outputs of another system."""

    places: tuple[Path, ...]
    request: SearchRequest  # its own options, before those of the other side fill the gaps

    @property
    def is_written(self) -> bool:
        """Whether it is a file of outputs; a file that belongs to a model is a mistaken model folder."""
        return self.places[0].is_file() and self.places[0].suffix not in MODEL_FILES

    @property
    def name(self) -> str:
        """`runs/x`, or `runs/x (beam 5)` where options were given."""
        options = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in self.request.given.items())
        return f"{self.places[0]} ({options})" if options else str(self.places[0])

    def load(self, threads: int | None, say: Say) -> Translator | None:
        """The model; None for a file of outputs."""
        return None if self.is_written else Translator.load_ensemble(list(self.places), threads=threads, notice=say)


@dataclass(frozen=True)
class Outputs:
    """The best output for each source, and how it was found."""

    texts: list[str]
    seconds: float = 0.0  # of translating alone
    search: dict[str, Any] = field(default_factory=dict)  # the options that were used; empty for a file of outputs


def evaluate_translations(
    ours: Side,
    pairs: str,
    rival: Side | None = None,
    *,
    task: str = "translate",
    columns: str | ReadAs | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> Report:
    """Report on one side, perhaps compared with another; `say` gets what was left out or cut.

    `task` is that of the outputs where neither side is a model.
    """
    spec = CorpusSpec.parse(pairs, columns)
    start = time.perf_counter()
    model = ours.load(threads, say)
    load_seconds = time.perf_counter() - start
    other = None if rival is None else model if rival.places == ours.places else rival.load(threads, say)
    guide = model or other  # its settings decide how the file is read and what is measured
    task = guide.config.task.name if guide else task
    records = read_records(spec, guide.config.data if guide else DataConfig(), allow_loss, say)
    items = records.items
    outputs = answer(model, ours, ours.request, records, items, say)
    rivals = answer(other, rival, rival.request.over(ours.request), records, items, say) if rival else None
    baseline = (TASKS[task].baseline, BASELINES[TASKS[task].baseline](items)) if TASKS[task].baseline else None
    known, rival_known, why_not = (
        compare_perplexity(model, other, items, say) if model and "perplexity" in TASKS[task].metrics else ({}, {}, "")
    )
    seen = most_seen(ours.places, model, [item.source for item in items]) if model else None
    report = make_report(
        items,
        outputs.texts,
        target_lang=target_language(guide, spec),
        task=task,
        rival=(rival.name, rivals.texts) if rival and rivals else baseline,
        baseline=baseline if rival else None,
        known=known,
        rival_known=rival_known,
        about=describe(model, ours, outputs, len(items), load_seconds)
        | {"pairs": pairs, "excluded": records.excluded, "seen_in_training": seen},
        warnings=[
            *([f"Perplexity is not compared: {why_not}."] if why_not else []),
            *(searched_otherwise(outputs.search, rivals.search, rival.request.given) if rival and rivals else []),
            *(exchanged_warning(ours.places[0], model.tokenizers, items) if model else []),
            *seen_warning(seen, len(items)),
            *(split_warning(model, items) if model else []),
        ],
    )
    by_source = {item.source: text for item, text in zip(items, outputs.texts, strict=True)}
    return dataclasses.replace(report, outputs=records.beside([by_source[pair.source] for pair in records.pairs]))


def answer(
    model: Translator | None, side: Side, request: SearchRequest, records: Records, items: list[Item], say: Say
) -> Outputs:
    """What a side writes: searched by its model, or read from its file."""
    if model is None:
        return Outputs(read_outputs(side.places[0], records, items, say))
    return decode_items(model, items, request, say)


def read_outputs(file: Path, records: Records, items: list[Item], say: Say) -> list[str]:
    """The output for each item from a file; of a repeated source the first one counts."""
    by_source: dict[str, list[str]] = {}
    for pair, text in zip(records.pairs, records.read_beside(file), strict=True):
        by_source.setdefault(pair.source, []).append(text)
    if unlike := sum(len(set(texts)) > 1 for texts in by_source.values()):
        say(f"{file}: {unlike:,} repeated sources have different outputs; the first one of each counts")
    return [by_source[item.source][0] for item in items]


def target_language(model: Translator | None, spec: CorpusSpec) -> str:
    """The language that decides how BLEU finds words: that of the model, else that in the names of the test file."""
    if model is None:
        return spec.languages[1]
    return model.config.data.target_lang or model.facts.get("target_lang") or ""


def decode_items(translator: Translator, items: list[Item], request: SearchRequest, say: Say) -> Outputs:
    start = time.perf_counter()
    lines = [item.lines[0] for item in items]
    found = translator.answer([item.source for item in items], request, lines=lines, warn=say)
    seconds = time.perf_counter() - start
    search = translator.fill(request).facts() | {"mbr": request.mbr}
    return Outputs([ranked[0].text for ranked in found], seconds, search)


def translate_items(translator: Translator, items: list[Item], beam: int | None, say: Say) -> Outputs:
    return decode_items(translator, items, SearchRequest.of(beam=beam), say)


def describe(
    translator: Translator | None, side: Side, outputs: Outputs, num_items: int, load_seconds: float
) -> dict[str, Any]:
    if translator is None:
        return {"outputs_of": str(side.places[0])}
    facts = {name: translator.facts.get(name) for name in ("params", "step", "data_hash")}
    return facts | {
        "beam": outputs.search["beam"],
        "search": outputs.search,
        "sentences_per_second": num_items / outputs.seconds,
        "translate_seconds": outputs.seconds,
        "load_seconds": load_seconds,
        "model": str(side.places[0]),
        "with": [str(member) for member in side.places[1:]],
    }


def first_sentences(items: list[Item]) -> list[str]:
    """The baseline of summaries: the first sentence of the text itself."""
    return [next(iter(split_sentences(item.source)), "").strip() for item in items]


BASELINES = {"first sentence": first_sentences}  # TaskRecord.baseline -> the texts that a model must beat


def compare_perplexity(
    translator: Translator, other: Translator | None, items: list[Item], say: Say
) -> tuple[Measurements, Measurements, str]:
    """Perplexity of both models; that of the other only if it predicts the same tokens, otherwise the reason."""
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


def measure_perplexity(translator: Translator, items: list[Item], say: Say) -> Measurement:
    """Perplexity of all references of each item."""
    rows = [(place, item, answer) for place, item in enumerate(items) for answer in item.references]
    texts = [item.source for _, item, _ in rows], [answer for _, _, answer in rows]
    lines = [item.lines[0] for _, item, _ in rows]
    log_probs, num_tokens = [0.0] * len(items), [0] * len(items)
    for (place, _, _), score in zip(rows, score_pairs(translator, *texts, lines=lines, warn=say), strict=True):
        if score is not None:  # None = too long for the model, as a warning has said
            log_probs[place] += score.log_prob
            num_tokens[place] += len(score.ids)
    return perplexity(log_probs, num_tokens)


def searched_otherwise(ours: dict[str, Any], theirs: dict[str, Any], asked: Collection[str]) -> list[str]:
    """A warning if the models' own search settings differ and were not given: they are a part of the difference."""
    asked = {*asked, "n_best", "beam"} if "mbr" in asked else asked  # minimum Bayes risk needs as many candidates
    names = [name for name in ours if name in theirs and ours[name] != theirs[name] and name not in asked]
    rows = ", ".join(f"{name} {ours[name]} here and {theirs[name]} there" for name in names)
    return [f"The two models were searched differently ({rows}): give the options to compare them alike."] * bool(names)


def split_warning(translator: Translator, items: list[Item]) -> list[str]:
    split = translator.count_split([item.source for item in items])
    if not split:
        return []
    return [f"{split:,} of {len(items):,} sources are longer than the model is used to: translated by sentence."]


def most_seen(folders: Sequence[Path], translator: Translator, sources: list[str]) -> int | None:
    """The largest number of seen sources of any member of an ensemble: members may have different training data."""
    encoded = translator.tokenizers.source.encode_batch(sources)
    found = [count for folder in folders if (count := count_seen(folder, encoded)) is not None]
    return max(found, default=None)
