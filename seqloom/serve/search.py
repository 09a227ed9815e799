"""What a request wants of a model, and how the model's own thread finds it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.errors import UsageError
from seqloom.explain.alignment import alignment_document
from seqloom.serve.shapes import Alignment

if TYPE_CHECKING:
    from seqloom.runtime.translator import Translation, Translator

USUAL_BEAM = 5  # hypotheses of a plain search


@dataclass(frozen=True, slots=True)
class How:
    """Texts that want the same go into one batch."""

    beam: int | None = None  # None = the model's own
    n_best: int = 1
    alternatives: int = 0
    align: bool = False
    attention: bool = False

    @property
    def times(self) -> int:
        """The work for one text, in plain searches: wider beams, and one search more for each alternative."""
        beam = max(self.beam or USUAL_BEAM, self.n_best)
        return -(-beam // USUAL_BEAM) * (2 + self.alternatives if self.alternatives else 1)

    @property
    def beyond_fast_engines(self) -> bool:
        return bool(self.alternatives or self.align or self.attention)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for one text."""

    hypotheses: list["Translation"]  # best first
    alternatives: list[str]  # none of them the best
    alignment: Alignment | None = None  # None = the model cannot tell
    attention: dict[str, Any] | None = None  # the document of explain/alignment


Find = Callable[[Sequence[str], How], list[Found]]


def make_find(translator: "Translator", warn: Callable[[str], None] = warnings.warn) -> Find:
    """The search of one model as a function of texts."""
    vocab_size = len(translator.tokenizers.target)

    def find(texts: Sequence[str], how: How) -> list[Found]:
        beam = None if how.beam is None else min(how.beam, vocab_size)
        ranked = translator.hypotheses(texts, beam, min(how.n_best, beam or vocab_size), warn=warn)
        num = min(how.alternatives + 1, vocab_size) if how.alternatives else 0
        others = translator.alternatives(texts, num, beam, warn=warn) if num else [[] for _ in texts]
        aligned = align(translator, texts, [found[0].text for found in ranked]) if how.align else [None] * len(texts)
        return [
            Found(
                hypotheses,
                different(alternatives, hypotheses[0].text)[: how.alternatives],
                alignment,
                look(translator, text, hypotheses[0].text) if how.attention else None,
            )
            for text, hypotheses, alternatives, alignment in zip(texts, ranked, others, aligned, strict=True)
        ]

    return find


def different(found: Sequence["Translation"], best: str) -> list[str]:
    """The texts of these without the best one and without repeats, in their order."""
    return [text for text in dict.fromkeys(translation.text for translation in found) if text != best]


def align(translator: "Translator", sources: Sequence[str], targets: Sequence[str]) -> Sequence[Alignment | None]:
    """Which word came from which; None for a text that is too long, and for a model without attention."""
    from seqloom.runtime.word_alignment import WORD, align_words  # torch: only for those who ask

    try:
        found = align_words(translator, sources, targets, warn=lambda message: None)
    except UsageError:
        return [None] * len(sources)
    return [
        None if links is None else Alignment(WORD.findall(source), WORD.findall(target), [[*link] for link in links])
        for source, target, links in zip(sources, targets, found, strict=True)
    ]


def look(translator: "Translator", source: str, target: str) -> dict[str, Any] | None:
    """The attention between the pieces of both; None where there is none to show."""
    try:
        return alignment_document(*translator.align(source, target))
    except UsageError:
        return None
