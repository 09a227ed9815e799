"""What a request wants of a model, and how the model's own thread finds it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.errors import UsageError
from seqloom.explain.alignment import alignment_document

if TYPE_CHECKING:
    from seqloom.runtime.translator import Translation, Translator


@dataclass(frozen=True, slots=True)
class How:
    """Texts that want the same go into one batch."""

    beam: int | None = None  # None = the model's own
    n_best: int = 1
    alternatives: int = 0
    align: bool = False
    attention: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for one text."""

    hypotheses: list["Translation"]  # best first
    alternatives: list[str]  # none of them the best
    links: list[tuple[int, int]] | None = None  # source word, target word; None = the model cannot tell
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
        links = align(translator, texts, [found[0].text for found in ranked]) if how.align else [None] * len(texts)
        return [
            Found(
                hypotheses,
                different(alternatives, hypotheses[0].text)[: how.alternatives],
                links_,
                look(translator, text, hypotheses[0].text) if how.attention else None,
            )
            for text, hypotheses, alternatives, links_ in zip(texts, ranked, others, links, strict=True)
        ]

    return find


def different(found: Sequence["Translation"], best: str) -> list[str]:
    """The texts of these without the best one and without repeats, in their order."""
    return [text for text in dict.fromkeys(translation.text for translation in found) if text != best]


def align(
    translator: "Translator", sources: Sequence[str], targets: Sequence[str]
) -> Sequence[list[tuple[int, int]] | None]:
    """Which word came from which; None for a text that is too long, and for a model without attention."""
    from seqloom.runtime.word_alignment import align_words  # torch: only for those who ask

    try:
        return align_words(translator, sources, targets, warn=lambda message: None)
    except UsageError:
        return [None] * len(sources)


def look(translator: "Translator", source: str, target: str) -> dict[str, Any] | None:
    """The attention between the pieces of both; None where there is none to show."""
    try:
        return alignment_document(*translator.align(source, target))
    except UsageError:
        return None
