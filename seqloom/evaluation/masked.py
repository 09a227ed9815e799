"""Evaluates masked models: hides words of unseen texts, the same ones every time, and lets the model predict them."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqloom.data.batch import Batch, pad_sources
from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.evaluation.label_report import LabelReport, doubts, mean, share
from seqloom.evaluation.labels import Say, describe, tell_seen
from seqloom.evaluation.records import read_pairs
from seqloom.metrics.significance import estimate
from seqloom.runtime.gap_filler import GapFiller
from seqloom.tasks.masked import hide
from seqloom.text.tags import cut_at_words
from seqloom.text.vocabulary import BOS, FIRST_WORD

SEED = 1


def evaluate_masked(
    folder: Path,
    pairs: str,
    *,
    columns: str | ReadAs | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
    say: Say,
) -> LabelReport:
    """Loss and accuracy at the hidden words, with intervals over texts."""
    told: list[str] = []
    reader = GapFiller.load(folder, threads, notice=told.append)
    spec = CorpusSpec.parse(pairs, columns, form="text")
    rows, excluded = read_pairs(spec, reader.config.data, allow_loss, say)
    texts = [row.source for row in rows]
    start = time.perf_counter()
    counts = ask(reader, texts)
    seconds = time.perf_counter() - start
    hidden, right, nll = counts.T
    seen, warnings = tell_seen(folder, reader, texts)
    return LabelReport(
        task="masked",
        scores=estimate({"loss": mean(nll, hidden), "accuracy": share(right, hidden)}),
        texts=len(texts),
        places=int(hidden.sum()),
        labels=[],
        confusions={},
        mistakes=[],
        warnings=[*told, *warnings, *doubts(len(texts))],
        about=describe(reader, len(texts), seconds)
        | {"model": str(folder), "pairs": pairs, "excluded": excluded, "seen_in_training": seen},
    )


def ask(reader: GapFiller, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """For each text: number of hidden words, number predicted correctly, and -log p of the hidden words."""
    counts = np.zeros((len(texts), 3))
    vocab_size = reader.model.target_vocab_size
    with torch.inference_mode(), torch.random.fork_rng(devices=[]):
        for number, batch in enumerate(batches_of(reader, texts)):
            torch.manual_seed(SEED + number)
            asked = hide(batch, reader.config.task.hide, vocab_size).to(reader.device)
            logits = reader.model.project(reader.model.hidden(asked.src, asked.src_mask)[asked.tgt_mask])[
                :, FIRST_WORD:
            ]
            wanted = asked.tgt_out[asked.tgt_mask] - FIRST_WORD
            nll = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
            found = logits.argmax(-1) == wanted
            owner = asked.indices[asked.tgt_mask.nonzero()[:, 0]]
            told = torch.stack([torch.ones_like(nll), found.float(), nll], 1)
            np.add.at(counts, owner.cpu().numpy(), told.double().cpu().numpy())
    return counts


def batches_of(reader: GapFiller, texts: Sequence[str]) -> Iterator[Batch]:
    """The texts as BOS x EOS, in parts that fit, sorted by length; `indices` are their places."""
    parts = [
        (place, text.ids[part])
        for place, text in enumerate(reader.pieces(texts))
        for part in cut_at_words(text.words, reader.config.data.max_tokens)
    ]
    parts.sort(key=lambda part: len(part[1]))
    size = reader.config.decode.batch_size
    for start in range(0, len(parts), size):
        places, rows = zip(*parts[start : start + size], strict=True)
        src, mask = pad_sources([[BOS, *ids] for ids in rows])
        yield Batch(src, mask, src[:, :0], src, src >= FIRST_WORD, torch.tensor(places))
