"""Evaluates denoising models: adds the same noise to unseen texts every time, and compares what the model restores."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.data.noise import infill, permute_sentences, sentence_ends
from seqloom.decode.options import SearchRequest
from seqloom.errors import DataError
from seqloom.evaluation.records import read_pairs
from seqloom.evaluation.report import Report, make_report
from seqloom.evaluation.seen_in_training import count_seen, seen_warning
from seqloom.metrics.measures import Measurement, perplexity
from seqloom.metrics.testset import Item
from seqloom.runtime.scoring import forced_batches, forced_log_probs
from seqloom.runtime.translator import Translator
from seqloom.text.tokenizer import BLANK
from seqloom.text.vocabulary import MASK

SEED = 1
HIDDEN = "_"  # how a mask is shown


def evaluate_denoise(
    folder: Path,
    pairs: str,
    *,
    columns: str | ReadAs | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Callable[[str], None],
) -> Report:
    """Report: perplexity of the texts given their noisy forms, and scores of the restored and of the noisy texts."""
    translator = Translator.load(folder, threads, notice=say)
    rows, excluded = read_pairs(CorpusSpec.parse(pairs, columns, form="text"), translator.config.data, allow_loss, say)
    tokenizer, most = translator.tokenizers.source, translator.config.data.max_tokens
    encoded = zip(rows, tokenizer.encode_batch([row.source for row in rows]), strict=True)
    known = [(row, ids) for row, ids in encoded if 0 < len(ids) <= most]
    tell_too_long(pairs, len(rows) - len(known), len(rows), most, say)
    texts = [ids for _, ids in known]
    noised = add_noise(translator, texts)
    start = time.perf_counter()
    found = translator.search(noised)
    seconds = time.perf_counter() - start
    search = translator.fill(SearchRequest()).facts()
    left = [tokenizer.decode(ids) for ids in noised]
    seen = count_seen(folder, texts)
    return make_report(
        [
            Item((row.line,), show_noised(translator, ids), (row.source,))
            for (row, _), ids in zip(known, noised, strict=True)
        ],
        [tokenizer.decode(best.ids) for best, *_ in found],
        task="denoise",
        rival=("the noisy text unchanged", left),
        known={"perplexity": measure_perplexity(translator, noised, texts)},
        about={name: translator.facts.get(name) for name in ("params", "step", "data_hash")}
        | {"model": str(folder), "pairs": pairs, "excluded": excluded, "too_long": len(rows) - len(known)}
        | {"beam": search["beam"], "search": search, "sentences_per_second": len(known) / seconds}
        | {"seen_in_training": seen},
        warnings=seen_warning(seen, len(texts), "texts"),
    )


def tell_too_long(pairs: str, too_long: int, total: int, most: int, say: Callable[[str], None]) -> None:
    """Report texts that are too long for the model and not measured; DataError if all of them are."""
    if too_long == total:
        raise DataError(f"{pairs}: no text is left: all {total:,} have more than the {most} tokens the model takes.")
    if too_long:
        say(f"{pairs}: {too_long:,} of {total:,} texts have more than the {most} tokens the model takes: left out")


def add_noise(translator: Translator, texts: list[list[int]]) -> list[list[int]]:
    """The texts with the noise of the model's own settings."""
    task, tokenizer, random = translator.config.task, translator.tokenizers.source, np.random.default_rng(SEED)
    ids, lengths = np.concatenate([np.array(text) for text in texts]), np.array([len(text) for text in texts])
    if task.permute:
        ids = permute_sentences(ids, lengths, sentence_ends(tokenizer.pieces(range(len(tokenizer)))), random)
    ids, lengths = infill(ids, lengths, task.hide, random)
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


def show_noised(translator: Translator, ids: list[int]) -> str:
    pieces = translator.tokenizers.source.pieces(ids)
    shown = [f" {HIDDEN} " if index == MASK else piece for index, piece in zip(ids, pieces, strict=True)]
    return " ".join("".join(shown).replace(BLANK, " ").split())


def measure_perplexity(translator: Translator, sources: list[list[int]], targets: list[list[int]]) -> Measurement:
    log_probs: list[Any] = [0.0] * len(sources)
    for batch in forced_batches(translator, list(zip(sources, targets, strict=True))):
        lengths = batch.tgt_mask.sum(1).tolist()
        for row, part in zip(batch.rows, forced_log_probs(translator.model, batch).split(lengths), strict=True):
            log_probs[row] = float(part.double().sum())
    return perplexity(log_probs, [len(ids) + 1 for ids in targets])  # + 1 for </s>
