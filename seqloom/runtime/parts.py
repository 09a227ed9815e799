"""Splits texts into the parts that an engine searches, and joins its results to texts. Nothing here needs torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.runtime.inputs import Intake
from seqloom.runtime.prefixes import check_room
from seqloom.text.tokenizer import Tokenizer

MOST_ROWS = 1024  # hypotheses at once: with a wide beam fewer sentences at once, to limit memory


@dataclass(frozen=True, slots=True)
class Alignment:
    """Word alignment: links are pairs (source word, target word), counted from 0."""

    source: list[str]  # words, split at spaces
    target: list[str]
    links: list[list[int]]


@dataclass(frozen=True, slots=True)
class Translation:
    """One output for a text: the result that command line, Python and HTTP get. N-best is a list of them."""

    text: str
    score: float  # outputs are ranked by it; the mean over the parts of a text that was split
    log_prob: float  # natural log of the probability, summed over the tokens
    alignment: Alignment | None = None  # if requested and the model has attention


@dataclass(frozen=True, slots=True)
class Part:
    """The ids of a text, or of one part of a long text."""

    ids: list[int]
    prefix: list[int] = field(default_factory=list)
    place: tuple[int, int] = (
        0,
        0,
    )  # line number, and number of the part in the line: the random numbers of sampling depend on them


NOTHING = Translation("", 0.0, 0.0)  # the answer to an empty text


class Engine(Protocol):
    """Runs a model. The torch engine supports every request; other engines report what they do not support."""

    name: str

    def lacks(self, request: SearchRequest, parts: Sequence[Part]) -> str:
        """What the engine does not support in a filled request; empty if it supports all of it."""
        ...

    def find(self, request: SearchRequest, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        """The outputs of each part for a filled request, in the order given."""
        ...


def batches_by_length(parts: Sequence[Part], size: int) -> list[list[int]]:
    """The indices of the parts in batches of at most `size`, sorted by length to keep padding small."""
    order = sorted(range(len(parts)), key=lambda place: len(parts[place].ids))
    return [order[start : start + size] for start in range(0, len(order), size)]


def split_texts(
    texts: Sequence[str], intake: Intake, prefixes: list[list[int]], request: SearchRequest, lines: Sequence[int]
) -> list[list[Part]]:
    """The parts of each text; the first one has the prefix."""
    found = []
    for line, prefix, parts in zip(lines, prefixes, intake.prepare(texts, lines), strict=True):
        if parts:
            check_room(line, prefix, request.limit(len(parts[0]) + 1))
        found.append([Part(ids, [] if place else prefix, (line, place)) for place, ids in enumerate(parts)])
    return found


def flat(texts: list[list[Part]]) -> list[Part]:
    return [part for parts in texts for part in parts]


def join(
    texts: Sequence[str], split: list[list[Part]], found: list[list[Hypothesis]], num: int, tokenizer: Tokenizer
) -> list[list[Translation]]:
    """Join the best outputs of the parts, then the second best, and so on; a text without parts is its own output."""
    answers = iter(found)
    joined = []
    for text, parts in zip(texts, split, strict=True):
        ranked = zip(*[next(answers) for _ in parts], strict=False)
        unchanged = Translation(text, 0.0, 0.0)
        joined.append([in_words(best, tokenizer) for best in ranked] if parts else [unchanged] * num)
    return joined


def without_repeats(ranked: list[Translation]) -> list[Translation]:
    """The first of each group of equal texts: different tokens may give the same text."""
    first: dict[str, Translation] = {}
    for found in ranked:
        first.setdefault(found.text, found)
    return [*first.values()]


def in_words(parts: Sequence[Hypothesis], tokenizer: Tokenizer) -> Translation:
    texts = [tokenizer.decode(part.ids) for part in parts]
    return Translation(
        # An output may begin with a piece that includes the space before it, though no training text does.
        text=" ".join(texts if tokenizer.kind == "char" else map(str.strip, texts)),
        score=sum(part.score for part in parts) / len(parts),
        log_prob=sum(part.log_prob for part in parts),
    )


def least_risky(candidates: list[Translation]) -> list[Translation]:
    """Minimum Bayes risk: the candidates, those most similar to all others (chrF) first."""
    from seqloom.rerank.minimum_bayes_risk import rank_by_risk  # sacrebleu, which only this needs

    return [candidates[place] for place in rank_by_risk([candidate.text for candidate in candidates])]
