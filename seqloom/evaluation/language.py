"""Measure a language model: read a text it has not seen and add up what each token cost it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.config import TASKS
from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.data.language_windows import Cut, StreamBatches, as_stream, cut_in_order
from seqloom.decode.score import log_softmax
from seqloom.errors import UsageError
from seqloom.evaluation.language_report import LanguageReport, Rival, compare_costs, estimate_costs
from seqloom.evaluation.records import read_pairs
from seqloom.evaluation.seen_in_training import count_seen, seen_warning
from seqloom.models.api import LanguageModel
from seqloom.runtime.folder import read_config
from seqloom.runtime.generator import Generator
from seqloom.text.vocabulary import UNK

BATCH = 2048  # tokens at once
LOGITS_AT_ONCE = 2**22  # 16 MB of them
LONG = 20
Say = Callable[[str], None]
Costs = NDArray[np.float64]
UNKNOWN = "the model predicts <unk> instead of an unknown word, which is easier"


def evaluate_language(
    folder: Path,
    text: str,
    *,
    columns: str | ReadAs | None,
    against: Path | None = None,
    threads: int | None,
    allow_loss: bool,
    say: Say,
) -> LanguageReport:
    """Report on one text. Windows follow each other without gap or overlap; a state is carried through all of them."""
    spec = CorpusSpec.parse(text, columns, form="stream")
    generator = Generator.load(folder, threads)
    lines = [pair.source for pair in read_pairs(spec, generator.config.data, allow_loss, say)[0]]
    read = read_text(generator, lines)
    other = ask_rival(against, lines, threads) if against else None
    chars = np.array([len(line) + 1 for line in lines])
    seen, num_long = count_seen(folder, read.long_lines), len(read.long_lines)
    about: dict[str, Any] = {name: generator.facts.get(name) for name in ("params", "step", "data_hash")}
    about |= {"model": str(folder), "text": text, "lines": len(lines), "characters": int(chars.sum())}
    about |= {"tokens": int(read.tokens.sum()), "unknown": read.unknown, "window": generator.config.task.window}
    return LanguageReport(
        about | {"seconds": read.seconds, "seen_in_training": seen},
        estimate_costs(read.costs, read.tokens, chars),
        estimate_costs(read.with_context, read.tokens, chars) if read.with_context is not None else {},
        [
            *unknown_warning(folder, read),
            *(unknown_warning(against, other) if against and other else []),
            *seen_warning(seen, num_long, f"lines of {LONG} tokens or more"),
        ],
        compare_reads(against, read, other, chars) if against and other else None,
    )


@dataclass(frozen=True)
class Read:
    """The loss of a model on each line, (lines,): -log p of its tokens and of its end."""

    costs: Costs
    with_context: Costs | None  # each token with at least half a window of context; None = there is no window
    tokens: NDArray[np.int64]
    unknown: int
    seconds: float
    long_lines: list[list[int]]  # to look for in the training data: short lines (names, refrains) repeat in any text


def read_text(generator: Generator, lines: list[str]) -> Read:
    model = generator.model
    encoded = generator.tokenizer.encode_batch(lines)
    carries = model.context == 0
    # One row carries a state through the whole text: of several, all but the first would begin without what was before.
    window = BATCH if carries else generator.config.task.window
    rows = max(1, BATCH // window)
    stream = as_stream(encoded, generator.tokenizer.line_end)
    batches = StreamBatches(stream, window, rows, carries=carries, seed=None)
    tokens = np.array([len(ids) + 1 for ids in encoded])
    began = time.perf_counter()
    costs = cost_of_tokens(model, batches, batches.epoch(0))
    seconds = time.perf_counter() - began
    with_context = None
    if model.context:
        cuts = cut_in_order(len(costs), window, rows, stride=max(1, window // 2))
        with_context = by_line(cost_of_tokens(model, batches, cuts), tokens)
    unknown = sum(ids.count(UNK) for ids in encoded)
    return Read(by_line(costs, tokens), with_context, tokens, unknown, seconds, [x for x in encoded if len(x) >= LONG])


def best_costs(read: Read) -> Costs:
    """The losses with the largest context, so that the start of a window does not count against a model."""
    return read.costs if read.with_context is None else read.with_context


def unknown_warning(folder: Path, read: Read) -> list[str]:
    return [f"{read.unknown:,} tokens are unknown words to {folder}: {UNKNOWN}."] if read.unknown else []


def compare_reads(rival: Path, ours: Read, theirs: Read, chars: NDArray[Any]) -> Rival:
    why_not = UNKNOWN if ours.unknown or theirs.unknown else ""
    return compare_costs(str(rival), best_costs(ours), best_costs(theirs), ours.tokens, chars, why_not)


def ask_rival(folder: Path, lines: list[str], threads: int | None) -> Read:
    if TASKS[task := read_config(folder).task.name].shape != "continues":
        raise UsageError(f"--against {folder}: this model was trained for {task!r}; compare with a language model")
    return read_text(Generator.load(folder, threads), lines)


def by_line(costs: Costs, tokens: NDArray[Any]) -> Costs:
    return np.add.reduceat(costs, np.cumsum(tokens) - tokens)


def cost_of_tokens(model: LanguageModel, batches: Any, cuts: list[Cut]) -> Costs:
    """-log p of each token of the text; for a token in two windows from the earlier one, where it has more context."""
    costs = np.full(len(batches.stream) - 1, np.nan)
    rows = max(1, LOGITS_AT_ONCE // model.target_vocab_size)
    device, state = next(model.parameters()).device, None
    with torch.inference_mode():
        for cut in cuts:
            batch = batches.load(cut).to(device)
            hidden, state = model.read(batch.inputs, model.begin(len(batch.inputs)) if batch.fresh else state)
            parts = zip(hidden.flatten(0, 1).split(rows), batch.targets.flatten().split(rows), strict=True)
            chosen = [log_softmax(model.project(part)).gather(-1, wanted[:, None]) for part, wanted in parts]
            log_probs = torch.cat(chosen).view_as(batch.targets)  # (B, T)
            for start, found in zip(cut.starts.tolist(), -log_probs.double().cpu().numpy(), strict=True):
                window = costs[start : start + cut.length]
                np.copyto(window, found, where=np.isnan(window))
    return costs
