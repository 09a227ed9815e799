"""A quick look at what a model says about held-out data, at every validation; `evaluate` is the measurement."""

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from seqloom.config import Config
from seqloom.data.batch import pad_sources
from seqloom.data.store import Store
from seqloom.decode.search import search
from seqloom.evaluate.metrics import quick_score
from seqloom.models.api import Reader, Seq2Seq
from seqloom.runtime.labeller import Labeller
from seqloom.tasks.build import build_task
from seqloom.text.labels import as_written
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import FIRST_WORD
from seqloom.workflows.glance_text import Writing

MOST_AT_A_GLANCE = 500  # sentences translated at a validation, greedily
NUM_SAMPLES = 3
ROWS_AT_ONCE = 100


class Translations:
    """The task's own score of greedy outputs, and three of them with what changed since the last time."""

    def __init__(
        self, model: Seq2Seq, store: Store, tokenizers: Tokenizers, config: Config, device: torch.device
    ) -> None:
        self.model, self.store, self.tokenizers, self.device = model, store, tokenizers, device
        self.target_lang, self.task = config.data.target_lang, config.task.name
        self.chosen = np.arange(min(len(store), MOST_AT_A_GLANCE))

    def look(self, pause: Callable[[], None] = lambda: None) -> tuple[dict[str, float], list[str]]:
        outputs = self.translate(pause)
        references = [list(pair.targets) for pair in self.store.texts[: len(outputs)]]
        return quick_score(outputs, references, self.target_lang, self.task), outputs[:NUM_SAMPLES]

    @torch.inference_mode()
    def translate(self, pause: Callable[[], None] = lambda: None) -> list[str]:
        """Greedy translations of the first held-out sources, in their order."""
        outputs = [""] * len(self.chosen)
        by_length = self.chosen[np.argsort(self.store.source_lengths[self.chosen], kind="stable")]
        for start in range(0, len(by_length), ROWS_AT_ONCE):
            pause()
            rows = by_length[start : start + ROWS_AT_ONCE]
            tokens, mask = pad_sources([self.store.pair_ids(row)[0] for row in rows])
            memory = self.model.encode(tokens.to(self.device), mask.to(self.device))
            for row, (best, *_) in zip(rows, search(self.model, memory, beam=1), strict=True):
                outputs[row] = self.tokenizers.target.decode(best.ids)
        return outputs

    def show(self, before: list[str], answers: list[str]) -> list[str]:
        """The same held-out pairs each time."""
        return [
            f"  source  {pair.source}\n  target  {pair.targets[0]}\n"
            f"  output  {mark_changes(before[number] if number < len(before) else None, answer)}"
            for number, (pair, answer) in enumerate(zip(self.store.texts, answers, strict=False))
        ]


class Labels:
    """The share of labels or tags that are right, in percent, and three answers."""

    def __init__(
        self, model: Reader, store: Store, tokenizers: Tokenizers, config: Config, device: torch.device
    ) -> None:
        self.model, self.store, self.device = model, store, device
        self.labeller = Labeller(model, tokenizers, config)
        self.task = build_task(config)
        self.batches = self.task.batches(store, max(config.train.batch_tokens, 2048), seed=0)
        self.plan = self.batches.epoch(0)

    @torch.inference_mode()
    def look(self, pause: Callable[[], None] = lambda: None) -> tuple[dict[str, float], list[str]]:
        right = said = 0
        for number in range(len(self.plan)):
            pause()
            batch = self.batches.load(self.plan[number]).to(self.device)
            logits = self.model.project(self.model.hidden(batch.src, batch.src_mask)[batch.tgt_mask])
            best = logits[:, FIRST_WORD:].argmax(-1) + FIRST_WORD
            right += int((best == batch.tgt_out[batch.tgt_mask]).sum())
            said += len(best)
        return {"accuracy": 100 * right / said}, self.labeller.label([p.source for p in self.store.texts[:NUM_SAMPLES]])

    def show(self, before: list[str], answers: list[str]) -> list[str]:
        return [
            f"  text    {pair.source}\n  label   {as_written(pair.target)}\n"
            f"  output  {mark_changes(before[number] if number < len(before) else None, answer)}"
            for number, (pair, answer) in enumerate(zip(self.store.texts, answers, strict=False))
        ]


def mark_changes(before: str | None, after: str) -> str:
    """`after`, with what is new since `before` in {+ +} and what is gone in [- -]."""
    if before is None:
        return after
    old, new = before.split(), after.split()
    parts = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(" ".join(new[c:d]))
        else:
            parts += [f"[-{' '.join(old[a:b])}-]"] if b > a else []
            parts += [f"{{+{' '.join(new[c:d])}+}}"] if d > c else []
    return " ".join(parts)


GLANCES: dict[str, Any] = {
    "pairs": Translations,
    "labelled": Labels,
    "tagged": Labels,
    "stream": Writing,
}  # by the form of the task's data; others tell their loss alone
