"""Validation samples: a quick score and some answers on held-out data; `evaluate` is the exact measurement."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from seqloom.config import TASKS, Config
from seqloom.data.batch import pad_sources
from seqloom.data.store import Store
from seqloom.decode.search import search
from seqloom.metrics.measures import quick_score
from seqloom.models.api import LanguageModel, Reader, Seq2Seq
from seqloom.runtime.generator import Generator
from seqloom.runtime.labeller import Labeller
from seqloom.tasks.build import build_task
from seqloom.text.labels import as_written
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import FIRST_WORD
from seqloom.training.processes import ALONE, OneProcess

MOST_AT_A_GLANCE = 500  # sentences translated per validation, greedily
MOST_TO_CHOOSE = 5000  # and when the final weights are chosen
NUM_SAMPLES = 3
ROWS_AT_ONCE = 100
TOKENS_WRITTEN = 60


class Translations:
    """Scores greedy outputs with the task's own metric, and shows three of them, with the last ones if they differ."""

    def __init__(
        self, model: Seq2Seq, store: Store, tokenizers: Tokenizers, config: Config, device: torch.device
    ) -> None:
        self.model, self.store, self.tokenizers, self.device = model, store, tokenizers, device
        self.target_lang, self.metrics = config.data.target_lang, TASKS[config.task.name].metrics

    def look(
        self, pause: Callable[[], None] = lambda: None, processes: OneProcess = ALONE
    ) -> tuple[dict[str, float], list[str]]:
        outputs = self.translate(MOST_AT_A_GLANCE, pause, processes)
        return self.measure(outputs), outputs[:NUM_SAMPLES]

    def score(self) -> dict[str, float]:
        return self.measure(self.translate(MOST_TO_CHOOSE))

    def measure(self, outputs: list[str]) -> dict[str, float]:
        references = [list(pair.targets) for pair in self.store.texts[: len(outputs)]]
        return quick_score(outputs, references, self.target_lang, self.metrics)

    @torch.inference_mode()
    def translate(
        self, most: int, pause: Callable[[], None] = lambda: None, processes: OneProcess = ALONE
    ) -> list[str]:
        """Translate the first held-out sources greedily, in their order."""
        outputs: dict[int, str] = {}
        by_length = np.argsort(self.store.source_lengths[: min(len(self.store), most)], kind="stable")
        for _, start in processes.dealt(range(0, len(by_length), ROWS_AT_ONCE), pause):
            rows = by_length[start : start + ROWS_AT_ONCE]
            tokens, mask = pad_sources([self.store.pair_ids(row)[0] for row in rows])
            memory = self.model.encode(tokens.to(self.device), mask.to(self.device))
            for row, (best, *_) in zip(rows, search(self.model, memory, beam=1), strict=True):
                outputs[int(row)] = self.tokenizers.target.decode(best.ids)
        return [*processes.merged(outputs).values()]

    def show(self, before: list[str], answers: list[str]) -> list[str]:
        """Show the same held-out pairs each time."""
        shown = [("source", pair.source, "target", pair.targets[0]) for pair in self.store.texts[: len(answers)]]
        return show_answers(shown, before, answers)


class Writing:
    """What a language model writes without a prompt, at every validation with the same random numbers."""

    def __init__(
        self, model: LanguageModel, store: Store, tokenizers: Tokenizers, config: Config, device: torch.device
    ) -> None:
        self.generator = Generator(model, tokenizers, config)

    def look(
        self, pause: Callable[[], None] = lambda: None, processes: OneProcess = ALONE
    ) -> tuple[dict[str, float], list[str]]:
        pieces = []
        for piece in self.generator.stream(tokens=TOKENS_WRITTEN):  # every process writes the same
            processes.agree()
            pause()
            pieces.append(piece)
        return {}, ["".join(pieces)]

    def score(self) -> dict[str, float]:
        return {}  # nothing says how good a free text is

    def show(self, before: list[str], answers: list[str]) -> list[str]:
        return [f"  writes  {line}" for answer in answers for line in answer.splitlines() if line.strip()]


class Labels:
    """Counts the share of right labels or tags, in percent, and shows three answers."""

    def __init__(
        self, model: Reader, store: Store, tokenizers: Tokenizers, config: Config, device: torch.device
    ) -> None:
        self.model, self.store, self.device = model, store, device
        self.labeller = Labeller(model, tokenizers, config)
        self.task = build_task(config)
        self.batches = self.task.batches(store, max(config.train.batch_tokens, 2048), seed=0)
        self.plan = self.batches.epoch(0)

    @torch.inference_mode()
    def look(
        self, pause: Callable[[], None] = lambda: None, processes: OneProcess = ALONE
    ) -> tuple[dict[str, float], list[str]]:
        counts: dict[int, tuple[int, int]] = {}
        for number, _ in processes.dealt(range(len(self.plan)), pause):
            batch = self.batches.load(self.plan[number]).to(self.device)
            logits = self.model.project(self.model.hidden(batch.src, batch.src_mask)[batch.tgt_mask])
            best = logits[:, FIRST_WORD:].argmax(-1) + FIRST_WORD
            counts[number] = int((best == batch.tgt_out[batch.tgt_mask]).sum()), len(best)
        right, said = (sum(column) for column in zip(*processes.merged(counts).values(), strict=True))
        return {"accuracy": 100 * right / said}, self.labeller.label([p.source for p in self.store.texts[:NUM_SAMPLES]])

    def score(self) -> dict[str, float]:
        return self.look()[0]

    def show(self, before: list[str], answers: list[str]) -> list[str]:
        shown = [("text", pair.source, "label", as_written(pair.target)) for pair in self.store.texts[: len(answers)]]
        return show_answers(shown, before, answers)


def show_answers(pairs: Sequence[tuple[str, str, str, str]], before: list[str], answers: list[str]) -> list[str]:
    """Show what was read, what is right and the answer, one per line; the last validation's where it was another."""
    shown = []
    for number, ((name, source, wanted, target), answer) in enumerate(zip(pairs, answers, strict=False)):
        rows = [(name, source), (wanted, target), ("output", answer)]
        if number < len(before) and before[number] != answer:
            rows.append(("before", before[number]))
        shown.append("\n".join(f"  {row:<7} {text}" for row, text in rows))
    return shown


SAMPLES: dict[str, Any] = {  # shape of the answers (config/tasks.py) -> what a validation shows beside the loss
    "writes": Translations,
    "restores": None,
    "labels": Labels,
    "tags": Labels,
    "fills": None,
    "continues": Writing,
}
