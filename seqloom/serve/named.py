"""Models that do not translate between languages: clients ask for them by name.

labels, tags, fills     classify a text, tag its words, fill its gaps: /models/NAME (hugging_face.py)
writes, restores        write a text for a text, such as a summary or a pronunciation: OpenAI's addresses
continues               a language model: OpenAI's addresses
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.runtime.parts import Translation
from seqloom.serve.batcher import Batcher
from seqloom.serve.continuing import Continuing
from seqloom.serve.finding import Find, Found, Wanted, make_find
from seqloom.serve.refusal import Refusal

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering

LEAST = 1e-38  # a probability below it counts as this much: it has a logarithm
WRITES = ("writes", "restores")


@dataclass(frozen=True, slots=True)
class Single:
    """A named model before it is served, and the folder that messages name."""

    name: str
    task: str
    shape: str  # of its answers (config/tasks.py)
    answering: "Answering"
    folder: str
    load: "Callable[[], Answering] | None" = None  # loads it again; None = keep it whatever happens


@dataclass(eq=False, slots=True)
class Named:
    name: str
    task: str
    shape: str
    answering: Any
    batcher: Batcher | None  # None = a language model
    continuing: Continuing | None

    async def ask(self, texts: Sequence[str], wanted: Wanted) -> list[Found]:
        assert self.batcher is not None
        return await self.batcher.ask(texts, wanted)

    @property
    def busy(self) -> bool:
        return bool((self.batcher and self.batcher.busy) or (self.continuing and self.continuing.busy))

    @property
    def writes(self) -> bool:
        return self.shape in (*WRITES, "continues")

    @property
    def tokenizers(self) -> Any:
        return self.answering.tokenizers

    def refuse_to_write(self) -> Refusal:
        return Refusal(400, f"{self.name} was trained for '{self.task}' and writes no text: POST /models/{self.name}.")


def find_with(shape: str, answering: Any, warn: Callable[[str], None]) -> Find:
    """The answers of a model as a function of texts, for its batcher."""
    if shape in WRITES:
        return make_find(answering, warn)
    return {"labels": find_labels, "tags": find_tags, "fills": find_fillings}[shape](answering)


def find_labels(labeller: Any) -> Find:
    def find(texts: Sequence[str], wanted: Wanted) -> list[Found]:
        """All labels of each text, the most probable first; a blank text has none."""
        found = labeller.hypotheses(texts, n_best=len(labeller.labels))
        return [Found(ranked if text.strip() else []) for text, ranked in zip(texts, found, strict=True)]

    return find


def find_tags(labeller: Any) -> Find:
    def find(texts: Sequence[str], wanted: Wanted) -> list[Found]:
        """The most probable tag of each word, as one hypothesis per word."""
        asked = [text for text in texts if text.strip()]
        found = iter(labeller.probabilities(asked))
        return [Found(tags_of(labeller.labels, next(found)) if text.strip() else []) for text in texts]

    return find


def tags_of(names: Sequence[str], probabilities: Any) -> list[Translation]:
    best = probabilities.argmax(-1)
    scores = [math.log(max(float(row[tag]), LEAST)) for row, tag in zip(probabilities, best, strict=True)]
    return [Translation(names[tag], score, score) for tag, score in zip(best, scores, strict=True)]


def find_fillings(filler: Any) -> Find:
    def find(texts: Sequence[str], wanted: Wanted) -> list[Found]:
        return [Found(ranked) for ranked in filler.hypotheses(texts, n_best=wanted.search.n_best)]

    return find
