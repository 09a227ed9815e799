"""The search that a client asks for, and the function that runs it in the model's thread."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.runtime.parts import Alignment, Translation

if TYPE_CHECKING:
    from seqloom.runtime.translator import Translator

PerToken = Callable[[Translation], float]
# Nats per token below the best from which an alternative is not shown: its tokens are less than 0.6 times as probable.
# Of the demo's dates, alternatives that are no dates (998-07-14) are 0.6 to 1.0 below, readable ones up to 0.4.
FAR_BELOW = 0.5
USUAL_BEAM = 5  # hypotheses of a plain search
NO_OPTIONS = SearchRequest()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search request and further wishes of a client. Texts with the same wishes share a batch."""

    search: SearchRequest = NO_OPTIONS
    alternatives: int = 0  # further translations, which differ from the best one early
    alignment: bool = False

    @classmethod
    def of(
        cls,
        own: SearchRequest = NO_OPTIONS,
        *,
        alternatives: int = 0,
        alignment: bool = False,
        **options: int | None,
    ) -> "Wanted":
        """The server's options, changed by those of the client; the beam is as wide as the number of outputs needs."""
        given = tuple(item for item in options.items() if item[1] is not None)
        return made_before(own, alternatives, alignment, given)

    @property
    def times(self) -> int:
        """The work for one text, in plain searches: wider beams, and one search more for each alternative."""
        beam = max(self.search.beam or USUAL_BEAM, self.search.num)
        return -(-beam // USUAL_BEAM) * (2 + self.alternatives if self.alternatives else 1)

    @property
    def beyond_fast_engines(self) -> bool:
        return bool(self.alternatives or self.alignment)


@lru_cache(maxsize=256)
def made_before(own: SearchRequest, alternatives: int, alignment: bool, options: tuple[tuple[str, int], ...]) -> Wanted:
    """As `Wanted.of`; most requests wish the same, and to change a search request costs a tenth of a request."""
    search = replace(own, **dict(options)) if options else own
    if search.beam is not None:
        search = replace(search, beam=max(search.beam, search.num))
    return Wanted(search, alternatives, alignment)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of the search for one text."""

    hypotheses: list[Translation]  # best first; each has its alignment if that was wanted
    alternatives: list[str] = field(default_factory=list)  # none of them the best
    alignments: dict[str, Alignment | None] = field(default_factory=dict)  # of each of these outputs


Find = Callable[[Sequence[str], Wanted], list[Found]]


def make_find(translator: "Translator", warn: Callable[[str], None] = warnings.warn) -> Find:
    """The search of one model as a function of texts."""
    vocab_size = len(translator.tokenizers.target)

    def per_token(one: Translation) -> float:
        return one.log_prob / (len(translator.tokenizers.target.encode(one.text)) + 1)

    def find(texts: Sequence[str], wanted: Wanted) -> list[Found]:
        search = wanted.search
        if search.beam is not None:
            search = replace(search, beam=min(search.beam, vocab_size))
        plain = replace(search, n_best=min(search.num, search.beam or vocab_size))
        ranked = translator.answer(texts, plain, warn=warn)
        others: list[list[Translation]] = [[] for _ in texts]
        if wanted.alternatives:
            num = min(wanted.alternatives + 1, vocab_size)
            others = translator.answer(texts, replace(search, n_best=None, alternatives=num), warn=warn)
        shown = [
            different(alternatives, hypotheses[0], per_token)[: wanted.alternatives]
            for hypotheses, alternatives in zip(ranked, others, strict=True)
        ]
        outputs = [
            [*dict.fromkeys([*(one.text for one in hypotheses), *alternatives])] if wanted.alignment else []
            for hypotheses, alternatives in zip(ranked, shown, strict=True)
        ]
        aligned = align_all(translator, texts, outputs)
        return [
            Found([replace(one, alignment=own.get(one.text)) for one in hypotheses], alternatives, own)
            for hypotheses, alternatives, own in zip(ranked, shown, aligned, strict=True)
        ]

    return find


def different(found: Sequence[Translation], best: Translation, per_token: PerToken) -> list[str]:
    """The texts without the best one, without repeats and without those far below the best, in the same order."""
    least = per_token(best) - FAR_BELOW
    near = dict.fromkeys(one.text for one in found if per_token(one) >= least)
    return [text for text in near if text != best.text]


def align_all(
    translator: "Translator", texts: Sequence[str], outputs: Sequence[Sequence[str]]
) -> list[dict[str, Alignment | None]]:
    """The word alignment of each output of each text."""
    sources = [text for text, own in zip(texts, outputs, strict=True) for _ in own]
    found = iter(align(translator, sources, [text for own in outputs for text in own]) if sources else [])
    return [{text: next(found) for text in own} for own in outputs]


def align(translator: "Translator", sources: Sequence[str], targets: Sequence[str]) -> Sequence[Alignment | None]:
    """The word alignments; None for a text that is too long and for a model without attention.

    The words of a text that stays as it is are aligned each with itself.
    """
    from seqloom.runtime.word_alignment import WORD, align_words  # torch: only for those who ask

    try:
        found = align_words(translator, sources, targets, warn=lambda message: None)
    except UsageError:
        return [None] * len(sources)
    stays = translator.intake().stays
    return [
        with_itself(WORD.findall(source))
        if stays(source)
        else None
        if links is None
        else Alignment(WORD.findall(source), WORD.findall(target), [[*link] for link in links])
        for source, target, links in zip(sources, targets, found, strict=True)
    ]


def with_itself(words: list[str]) -> Alignment:
    return Alignment(words, words, [[place, place] for place in range(len(words))])
