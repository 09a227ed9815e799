"""Sentences, and words in their sentences, as vectors of a trained model.

    sentence           the vector of a whole line (runtime/sentence_vectors.py)
    word in context    h = mean over its pieces j of h_j, the state of the model for piece j in this sentence

The name of a sentence is the sentence. The name of a word in context is its sentence with the word in brackets:
"He sat on the [bank] of the river." The same word has another vector in another sentence.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from seqloom.data.lines import whole_lines
from seqloom.errors import DataError, UsageError
from seqloom.progress import make_progress
from seqloom.runtime.sentence_vectors import SentenceVectors
from seqloom.vectors.word_vectors import Matrix, Neighbours, WordVectors

MOST_SENTENCES = 50_000  # of a file: states of a wide model still fit into the memory of a laptop
AT_ONCE = 512  # sentences between two updates of the progress bar
WORD = re.compile(r"\w+(?:['’-]\w+)*")
BRACKETS = re.compile(r"\[(.+?)\]")

Say = Callable[[str], None]
Span = tuple[int, int]


@dataclass(frozen=True)
class InContext:
    """A word, as a span of characters, in its sentence."""

    text: str
    span: Span

    @property
    def word(self) -> str:
        return self.text[slice(*self.span)]

    @property
    def name(self) -> str:
        start, end = self.span
        return f"{self.text[:start]}[{self.word}]{self.text[end:]}"

    @classmethod
    def read(cls, written: str) -> "InContext":
        """The word in brackets of a sentence; UsageError unless there is exactly one."""
        found = [*BRACKETS.finditer(written)]
        if len(found) != 1 or not found[0][1].strip():
            raise UsageError(
                f"{written!r}: want a sentence with one word in brackets, such as 'He sat on the [bank] of the river.'"
            )
        start, end = found[0].span()
        return cls(written[:start] + found[0][1] + written[end:], (start, end - 2))


def as_read(text: str, model: SentenceVectors) -> str:
    """The text in the Unicode normal form that the model reads, so that characters can be counted in it."""
    return unicodedata.normalize("NFC", text) if model.config.normalise == "nfc" else text


def nearest_sentences(folder: Path, file: Path, texts: Sequence[str], k: int, say: Say) -> dict[str, Neighbours]:
    """The k sentences of a file that are nearest to each text."""
    model = SentenceVectors.load(folder)
    among = sentences_of(model, file, say)
    return {text: near(among, text, vector, k) for text, vector in zip(texts, model.embed(texts), strict=True)}


def nearest_in_context(folder: Path, file: Path, texts: Sequence[str], k: int, say: Say) -> dict[str, Neighbours]:
    """The k words of a file, each in its sentence, that are nearest to the word in brackets of each text."""
    for text in texts:
        InContext.read(text)  # a mistake shows before the model is loaded
    model = SentenceVectors.load(folder)
    asked = [InContext.read(as_read(text, model)) for text in texts]
    found = dict(vectors_in_context(model, asked))
    if lost := next((one for one in asked if one not in found), None):
        raise UsageError(
            f"{lost.name!r}: the model does not read the word in brackets: it reads {model.longest:,} tokens of a "
            "text. Give a shorter sentence."
        )
    among = words_of(model, file, say)
    return {one.name: near(among, one.name, unit(found[one]), k) for one in asked}


def near(among: WordVectors, name: str, query: Matrix, k: int) -> Neighbours:
    """The k nearest, without the one that was asked about."""
    own = among.place_of.get(name)
    return among.ranked(query, k, without=[] if own is None else [own])


def unit(vector: Matrix) -> Matrix:
    return vector / np.maximum(np.linalg.norm(vector), np.finfo(np.float32).tiny)


def sentences_of(model: SentenceVectors, file: Path, say: Say) -> WordVectors:
    """The sentences of a file with their vectors, each sentence once."""
    lines = read_sentences(model, file, say)
    found = [model.embed(some) for some in with_progress(lines)]
    return WordVectors(lines, np.concatenate(found))


def words_of(model: SentenceVectors, file: Path, say: Say, only: Sequence[str] = ()) -> WordVectors:
    """The words of a file in their sentences; `only` these words, in upper or lower case, if any are given."""
    wanted = {word.casefold() for word in only}
    contexts = [
        InContext(line, found.span())
        for line in read_sentences(model, file, say)
        for found in WORD.finditer(line)
        if not wanted or found[0].casefold() in wanted
    ]
    if not contexts:
        raise UsageError(f"{', '.join(only)}: in no sentence of {file}. Words are compared as a whole.")
    by_text: dict[str, list[InContext]] = {}
    for one in contexts:
        by_text.setdefault(one.text, []).append(one)
    found = [
        pair
        for some in with_progress([*by_text])
        for pair in vectors_in_context(model, [one for text in some for one in by_text[text]])
    ]
    if len(found) < len(contexts):
        say(
            f"{file}: {len(contexts) - len(found):,} of {len(contexts):,} words left out, because they are behind the "
            f"{model.longest:,} tokens that the model reads of a text"
        )
    return WordVectors([one.name for one, _ in found], np.array([vector for _, vector in found], np.float32))


def vectors_in_context(model: SentenceVectors, asked: Sequence[InContext]) -> Iterator[tuple[InContext, Matrix]]:
    """Each word with the mean of the states of its pieces; a word that the model does not read is left out."""
    texts = [*dict.fromkeys(one.text for one in asked)]
    read = {text: (spans, states) for text, spans, states in pieces_of(model, texts)}
    for one in asked:
        (start, end), (spans, states) = one.span, read[one.text]
        rows = [row for row, span in enumerate(spans) if span[0] < end and span[1] > start]
        if rows:
            yield one, states[rows].mean(0)


def pieces_of(model: SentenceVectors, texts: Sequence[str]) -> Iterator[tuple[str, list[Span], Matrix]]:
    """Of each text the characters that its pieces cover, and their states; special tokens are left out."""
    specials, before = len(model.framed([])), model.framed([-1]).index(-1)
    all_spans = model.tokenizer.spans_batch(texts)
    for text, spans, (pieces, states) in zip(texts, all_spans, model.tokens(texts), strict=True):
        number = len(pieces) - specials
        if number > 1 and (states == states[0]).all():
            raise UsageError(
                "--in-context: this model has one vector for a whole sentence, not one per word. Use --sentences, or "
                "another model."
            )
        yield text, spans[:number], states[before : before + number]


def read_sentences(model: SentenceVectors, file: Path, say: Say) -> list[str]:
    """The sentences of a file, one per line, each once; blank lines are left out."""
    lines = (as_read(line, model).strip() for line in whole_lines(file))
    found = [*islice(dict.fromkeys(line for line in lines if line), MOST_SENTENCES + 1)]
    if not found:
        raise DataError(f"{file}: no sentence in it; want one per line")
    if len(found) > MOST_SENTENCES:
        say(f"{file}: more than {MOST_SENTENCES:,} sentences; the first {MOST_SENTENCES:,} are used")
    return found[:MOST_SENTENCES]


def with_progress(sentences: Sequence[str]) -> Iterable[Sequence[str]]:
    """The sentences in groups, with a progress bar."""
    with make_progress("vectors", len(sentences), unit="sentence") as progress:
        for start in range(0, len(sentences), AT_ONCE):
            some = sentences[start : start + AT_ONCE]
            yield some
            progress.update(start + len(some))
        progress.finish(len(sentences))
