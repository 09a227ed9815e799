"""Fills the gaps in texts with a masked model.

GapFiller.load("runs/bert").fill(["the ___ sat on the mat"])     -> ["the cat sat on the mat"]

One gap is filled with one token: a whole word only if the vocabulary has it. The model gives each gap its own
probabilities. The probability of a filled text is their product, so the n best fillings need only the n best tokens of
each gap.

    p(w_1 ... w_k | text) = prod_i p(w_i | text)
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.runtime.encoder_model import ReaderModel
from seqloom.runtime.engines import Notice
from seqloom.runtime.parts import Translation
from seqloom.text.vocabulary import FIRST_WORD, GAP, MASK

JOINED_TO_THE_BLANK = ("bpe", "unigram")  # tokenizers in which a word includes the space before it


class GapFiller(ReaderModel):
    """A masked model (BERT) that fills gaps, written ___, in texts."""

    shapes = ("fills",)
    own_names = ("fill",)

    @classmethod
    def load(
        cls, folder: str | Path, threads: int | None = None, device: str = "cpu", notice: Notice = warnings.warn
    ) -> "GapFiller":
        """Load a masked model; `notice` is called if it was imported without its output head and fills gaps badly."""
        filler = super().load(folder, threads, device, notice)
        if lacks := filler.facts.get("lacks"):
            notice(f"{folder}: imported without {lacks}; it fills gaps badly until it is trained further (--init)")
        return filler

    def fill(self, texts: Sequence[str]) -> list[str]:
        """Each text with its gaps filled; a text without a gap is unchanged."""
        return [found[0].text for found in self.hypotheses(texts)]

    def answers(self, texts: list[str], n_best: int) -> list[list[Translation]]:
        """The n_best fillings of each text, best first; fewer where the vocabulary has no more."""
        found = [[Translation(text, 0.0, 0.0)] for text in texts]
        asked = [place for place, text in enumerate(texts) if GAP in text]
        rows = [self.with_gaps(texts[place]) for place in asked]
        at = [[place + 1 for place in gaps] for _, gaps in rows]  # + 1 for BOS
        words = self.read([ids for ids, _ in rows], at)
        for place, (ids, gaps), probabilities in zip(asked, rows, words, strict=True):
            found[place] = [
                self.fill_gaps(texts[place], ids, dict(zip(gaps, filling, strict=True)), log_probs)
                for filling, log_probs in best_fillings(probabilities, n_best)
            ]
        return found

    def answer_to_blank(self, text: str) -> Translation:
        return Translation(text, 0.0, 0.0)  # as any text without a gap

    @property
    def joined_to_the_blank(self) -> bool:
        """Whether a token holds the blank before its word: then a gap does, too."""
        return self.tokenizers.source.kind in JOINED_TO_THE_BLANK

    def with_gaps(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a text with MASK at each gap, and where the gaps are: unknown words have the id of MASK too."""
        *before, last = text.split(GAP)
        if self.joined_to_the_blank:
            before = [part.rstrip(" ") for part in before]
        ids: list[int] = []
        gaps = []
        for part in self.pieces(before):
            ids += [*part.ids, MASK]
            gaps.append(len(ids) - 1)
        ids += self.pieces([last])[0].ids
        most = self.config.data.max_tokens
        if len(ids) > most:
            raise UsageError(
                f"{text[:40]!r} ...: {len(ids)} tokens, the model takes {most}. Give it less around a gap."
            )
        return ids, gaps

    def fill_gaps(self, text: str, ids: list[int], filled: dict[int, int], log_probs: list[float]) -> Translation:
        """A text with these tokens at these places; the score is the mean log-probability of the gaps."""
        decode = self.tokenizers.source.decode
        if ids.count(MASK) == len(filled):
            shown = decode([filled.get(place, index) for place, index in enumerate(ids)])
        else:  # unknown words are copied from the text
            parts = zip(text.split(GAP), [decode([word]).strip() for word in filled.values()] + [""], strict=True)
            shown = "".join(part + word for part, word in parts)
        return Translation(shown.strip(), sum(log_probs) / len(log_probs), sum(log_probs))


def best_fillings(probabilities: Tensor, num: int) -> list[tuple[list[int], list[float]]]:
    """The `num` most probable fillings of all gaps: a token and its log-probability per gap. (gaps, V - 4) -> list"""
    likeliest = probabilities.clamp_min(torch.finfo(torch.float32).tiny).log().topk(min(num, probabilities.shape[-1]))
    fillings: list[tuple[list[int], list[float]]] = [([], [])]
    for words, log_probs in zip((likeliest.indices + FIRST_WORD).tolist(), likeliest.values.tolist(), strict=True):
        longer = [
            ([*before, word], [*scores, log_prob])
            for before, scores in fillings
            for word, log_prob in zip(words, log_probs, strict=True)
        ]
        fillings = sorted(longer, key=lambda filling: -sum(filling[1]))[:num]
    return fillings


def with_a_gap(text: str) -> str:
    """A text with the word in its middle replaced by a gap, for golden.json."""
    words = text.split()
    words[len(words) // 2 : len(words) // 2 + 1] = [GAP]
    return " ".join(words)
