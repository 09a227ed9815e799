"""What a validation during training tells: loss, perplexity, BLEU on held-out pairs, and three of them to look at."""

import difflib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from seqloom.data.batch import Batch, collate, pad_sources
from seqloom.data.corpus import Pair
from seqloom.data.sampler import Sampler
from seqloom.data.store import Store
from seqloom.decode.search import search
from seqloom.evaluate.metrics import bleu
from seqloom.models.api import Seq2Seq
from seqloom.tasks.translate import translation_loss
from seqloom.text.sides import Tokenizers
from seqloom.train.signals import StopFlag
from seqloom.train.state import RunState

MOST_FOR_BLEU = 500  # sentences translated at a validation, greedily: a glance; `evaluate` is the measurement
NUM_SAMPLES = 3
ROWS_AT_ONCE = 100


class Stopped(Exception):
    """A stop was asked for in the middle of a validation; caught in this file."""


class Validation:
    """Call it with the state of the run: an event for the log, or None when a stop came in between."""

    def __init__(
        self,
        model: Seq2Seq,
        store: Store,
        tokenizers: Tokenizers,
        *,
        target_lang: str,
        batch_tokens: int,
        device: torch.device,
        tell: Callable[[str], None],
    ) -> None:
        self.model, self.store, self.tokenizers, self.target_lang = model, store, tokenizers, target_lang
        self.device, self.tell = device, tell
        plan = Sampler(store.source_lengths, store.target_lengths, batch_tokens, seed=0).epoch(0)
        self.batches = [plan[number] for number in range(len(plan))]
        self.chosen = np.arange(min(len(store), MOST_FOR_BLEU))

    def __call__(self, state: RunState, stop: StopFlag) -> dict[str, Any] | None:
        try:
            loss = self.loss(stop)
            outputs = self.translate(stop)
        except Stopped:
            return None
        pairs = self.store.texts[: len(outputs)]
        score = bleu(outputs, [list(pair.targets) for pair in pairs], self.target_lang)
        perplexity = math.exp(min(loss, 50))
        self.tell(f"step {state.step}: validation loss {loss:.3f}, perplexity {perplexity:.2f}, BLEU {score:.2f}")
        self.show_samples(state, pairs[:NUM_SAMPLES], outputs[:NUM_SAMPLES])
        return {"loss": loss, "bleu": score, "samples": outputs[:NUM_SAMPLES]}

    @torch.inference_mode()
    def loss(self, stop: StopFlag | None = None) -> float:
        """Mean -log p of a held-out target token."""
        nll, tokens = 0.0, 0
        for indices in self.batches:
            if stop:
                raise Stopped
            batch: Batch = collate(self.store, indices).to(self.device)
            part = translation_loss(self.model, batch)
            nll, tokens = nll + part.nll.item(), tokens + part.num_tokens
        return nll / tokens

    @torch.inference_mode()
    def translate(self, stop: StopFlag | None = None) -> list[str]:
        """Greedy translations of the first held-out sources, in their order."""
        outputs = [""] * len(self.chosen)
        by_length = self.chosen[np.argsort(self.store.source_lengths[self.chosen], kind="stable")]
        for start in range(0, len(by_length), ROWS_AT_ONCE):
            if stop:
                raise Stopped
            rows = by_length[start : start + ROWS_AT_ONCE]
            tokens, mask = pad_sources([self.store.pair_ids(row)[0] for row in rows])
            memory = self.model.encode(tokens.to(self.device), mask.to(self.device))
            for row, (best, *_) in zip(rows, search(self.model, memory, beam=1), strict=True):
                outputs[row] = self.tokenizers.target.decode(best.ids)
        return outputs

    def show_samples(self, state: RunState, pairs: list[Pair], outputs: list[str]) -> None:
        """The same held-out pairs each time, with what changed since the last."""
        for number, (pair, output) in enumerate(zip(pairs, outputs, strict=True)):
            before = state.samples[number] if number < len(state.samples) else None
            self.tell(f"  source  {pair.source}\n  target  {pair.targets[0]}\n  output  {mark_changes(before, output)}")
        state.samples = outputs


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
