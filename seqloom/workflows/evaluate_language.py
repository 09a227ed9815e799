"""Measure a language model: read a text it has not seen and add up what each token cost it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.workflows.evaluated_pairs import read_pairs

if TYPE_CHECKING:
    from seqloom.data.windows import Cut
    from seqloom.evaluate.language_report import LanguageReport
    from seqloom.models.api import LanguageModel

LEAST_BATCH = 2048  # tokens at once, as a validation in training reads them
Say = Callable[[str], None]


def evaluate_language(
    folder: Path, text: str, *, columns: str | None, threads: int | None, allow_loss: bool, say: Say
) -> "LanguageReport":
    """The report on one text. Windows follow each other without gap and overlap, as in validation."""
    from seqloom.data.corpus import CorpusSpec
    from seqloom.data.windows import StreamBatches, as_stream, cut_in_order
    from seqloom.evaluate.language_report import LanguageReport, estimate_costs
    from seqloom.runtime.generator import Generator
    from seqloom.text.vocabulary import UNK

    spec = CorpusSpec.parse(text, columns, form="stream")
    generator = Generator.load(folder, threads)
    config, model = generator.config, generator.model
    lines = [pair.source for pair in read_pairs(spec, config.data, allow_loss, say)[0]]
    encoded = generator.tokenizer.encode_batch(lines)
    window, rows = config.task.window, max(1, max(config.train.batch_tokens, LEAST_BATCH) // config.task.window)
    stream = as_stream(encoded, generator.tokenizer.line_end)
    batches = StreamBatches(stream, window, rows, carries=model.context == 0, seed=None)
    sizes = np.array([len(ids) + 1 for ids in encoded]), np.array([len(line) + 1 for line in lines])
    began = time.perf_counter()
    costs = cost_of_tokens(model, batches, batches.epoch(0))
    seconds = time.perf_counter() - began
    with_context = {}
    if model.context:
        cuts = cut_in_order(len(costs), window, rows, stride=max(1, window // 2))
        with_context = estimate_costs(by_line(cost_of_tokens(model, batches, cuts), sizes[0]), *sizes)
    unknown = sum(ids.count(UNK) for ids in encoded)
    about: dict[str, Any] = {name: generator.facts.get(name) for name in ("params", "step", "data_hash")}
    about |= {"model": str(folder), "text": text, "lines": len(lines), "characters": int(sizes[1].sum())}
    about |= {"tokens": len(costs), "unknown": unknown, "window": window, "seconds": seconds}
    warnings = [f"{unknown:,} tokens are unknown words: what they cost says little."] if unknown else []
    return LanguageReport(about, estimate_costs(by_line(costs, sizes[0]), *sizes), with_context, warnings)


def by_line(costs: NDArray[np.float64], tokens: NDArray[Any]) -> NDArray[np.float64]:
    return np.add.reduceat(costs, np.cumsum(tokens) - tokens)


def cost_of_tokens(model: "LanguageModel", batches: Any, cuts: list["Cut"]) -> NDArray[np.float64]:
    """-log p of each token of the text; of a token in two windows that in the earlier one, where more is before it."""
    import torch

    from seqloom.decode.score import log_softmax
    from seqloom.tasks.api import LOGITS_AT_ONCE

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
