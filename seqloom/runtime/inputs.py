"""Turns texts into ids that a model can read: normalised, tokenised, none longer than its limit.

For tasks in which the outputs of the parts make the output of the whole, as in translation, a text longer than the
training texts is split at sentence ends. A sentence over the limit is split at a comma or a space, with a warning; only
a single word over the limit is cut. For other tasks, such as summaries, a text is cut at the limit, with a warning.
In a dialogue the line to be answered comes last, so the oldest turns are left out.

What stays as it is, on the command line, in Python and over HTTP: a blank text, and for tasks that say so
(`copies_wordless` of config/tasks.py) a text without a letter or digit, such as an emoji. A model that saw such sources
in training (Morse code, lines of a program) has learned what they mean and is asked.
"""

import unicodedata
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from seqloom.config import TASKS, Config
from seqloom.errors import UsageError
from seqloom.runtime.sentences import split_in_two, split_sentences
from seqloom.text.tokenizer import Tokenizer

TURN = " <turn> "  # separates the turns of a dialogue in a source, here as in the training data
Warn = Callable[[str], None]
Parts = list[list[int]]  # the ids of each part of a text; no part at all when the text stays as it is
READ_AHEAD = 256  # texts of an iterator that are answered together: enough to sort by length
SEEN = 0.01  # share of training sources without letters and digits from which a model knows what to do with them
MANY_CAPITALS = 6  # letters


@dataclass(frozen=True, slots=True)
class Intake:
    """Prepares texts for one model. `usual_tokens`: hardly any text of its training data is longer."""

    tokenizer: Tokenizer
    max_tokens: int
    normalise: str = "none"
    usual_tokens: int | None = None
    long_inputs: str = "by sentence"  # how a text that is too long is shortened: config.tasks.LONG_INPUTS
    copies_wordless: bool = True
    warn: Warn = warnings.warn

    @classmethod
    def of(cls, config: Config, tokenizer: Tokenizer, facts: Mapping[str, Any], warn: Warn) -> "Intake":
        """The intake of a model with these settings and facts (run.json)."""
        data, task = config.data, TASKS[config.task.name]
        copies = task.copies_wordless and facts.get("wordless", 0.0) < SEEN
        usual = facts.get("usual_tokens")
        return cls(tokenizer, data.max_tokens, data.normalise, usual, task.long_inputs, copies, warn)

    def prepare(self, texts: Sequence[str], lines: Sequence[int]) -> list[Parts]:
        """The parts of each text, in order."""
        whole = min(self.max_tokens, self.usual_tokens or self.max_tokens)
        prepared: list[Parts] = []
        encoded = encode_texts(texts, self.tokenizer, self.normalise, lines)
        for line, text, ids in zip(lines, texts, encoded, strict=True):
            if self.stays(text):
                prepared.append([])
                continue
            if self.long_inputs == "by sentence" and len(ids) > whole:
                prepared.append(self.split_long(text, line))
                continue
            if self.long_inputs == "latest turns" and len(ids) > self.max_tokens:
                ids = self.last_turns(text, ids, line)
            prepared.append([self.cut(ids, "text", line)] if ids else [])
        return prepared

    def stays(self, text: str) -> bool:
        """Whether a text is its own answer, without asking the model."""
        rest = self.tokenizer.split_language(text)[1]
        return is_wordless(rest) if self.copies_wordless else not rest.strip()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return encode_texts(texts, self.tokenizer, self.normalise)

    def split_long(self, text: str, line: int) -> Parts:
        code, rest = self.tokenizer.split_language(text)
        sentences = [f"{code} {sentence.strip()}".lstrip() for sentence in split_sentences(rest) if sentence.strip()]
        parts: Parts = []
        for sentence, ids in zip(sentences, self.encode(sentences), strict=True):
            if len(ids) > self.max_tokens and split_in_two(self.tokenizer.split_language(sentence)[1]):
                self.warn(
                    f"line {line}: a sentence of {len(ids):,} tokens, the model takes {self.max_tokens}: "
                    "translated in pieces."
                )
            parts += self.fit(sentence, ids, line)
        return parts

    def fit(self, text: str, ids: list[int], line: int) -> Parts:
        """Split a sentence into pieces that the model can read: in two, and each of these again if necessary."""
        if len(ids) <= self.max_tokens:
            return [ids]
        code, rest = self.tokenizer.split_language(text)
        halves = [f"{code} {half}".lstrip() for half in split_in_two(rest)]
        if not halves:
            return [self.cut(ids, "word", line)]
        both = zip(halves, self.encode(halves), strict=True)
        return [part for half, own in both for part in self.fit(half, own, line)]

    def last_turns(self, text: str, ids: list[int], line: int) -> list[int]:
        """As many of the last turns as the model can read; if the last turn alone is too long, its end."""
        turns = text.rstrip().split(TURN)  # so that the last one is not empty

        def turns_from(first: int) -> list[int]:
            return self.encode([TURN.join(turns[first:])])[0]

        most = self.max_tokens
        first = bisect_left(range(len(turns) - 1), True, key=lambda first: len(turns_from(first)) <= most)
        kept = turns_from(first)
        lost = len(kept) - most
        left_out = [f"the oldest {first} of {len(turns)} turns"] if first else []
        left_out += [f"the first {lost:,} tokens of the last"] if lost > 0 else []
        self.warn(
            f"line {line}: a dialogue of {len(ids):,} tokens, the model takes {most}: "
            f"{' and '.join(left_out)} were left out."
        )
        return kept[-most:]

    def cut(self, ids: list[int], name: str, line: int) -> list[int]:
        """Cut a word or a text at the limit, with a warning."""
        if len(ids) > self.max_tokens:
            self.warn(
                f"line {line}: a {name} of {len(ids):,} tokens, the model takes {self.max_tokens}: "
                f"the last {len(ids) - self.max_tokens:,} were cut off. Give a shorter {name}."
            )
        return ids[: self.max_tokens]


def is_wordless(text: str) -> bool:
    """Whether a text has neither a letter nor a digit: there is nothing in it to translate."""
    return not any(map(str.isalnum, text))


def is_in_capitals(upper: int, lower: int) -> bool:
    """Whether a text with this many letters of each case is in capitals; a few letters may be an abbreviation."""
    return upper > MANY_CAPITALS and lower * 10 <= upper


def count_cases(text: str) -> tuple[int, int]:
    """Return how many letters are upper case and how many lower case; many scripts have neither."""
    return sum(map(str.isupper, text)), sum(map(str.islower, text))


def encode_texts(
    texts: Sequence[str], tokenizer: Tokenizer, normalise: str, lines: Sequence[int] = ()
) -> list[list[int]]:
    """The ids of each text, as in training; none for a blank text."""
    texts = as_list(texts)
    check_text(texts, lines or range(1, len(texts) + 1))
    if normalise == "nfc":
        texts = [unicodedata.normalize("NFC", text) for text in texts]
    return tokenizer.encode_batch(["" if text.isspace() else text for text in texts])


def as_list(texts: Iterable[str]) -> list[str]:
    """Texts of any kind of collection (list, tuple, generator, array, data frame column) as a list, or a UsageError."""
    if isinstance(texts, str):  # a sequence of letters, which is never meant
        raise UsageError("want a list of texts, got one text: put it into a list")
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise UsageError(f"want a text or a list of texts, got {described(texts)}")
    return [*texts]


def described(got: object) -> str:
    """What was given instead of a text, and what to do about it."""
    if got is None:
        return "None: leave missing values out, or put an empty text in their place"
    if isinstance(got, bytes):
        return "bytes: decode them first, as in data.decode('utf-8')"
    return f"{str(got)[:40]} ({type(got).__name__}): turn it into text first, for example with str()"


def one_or_many(
    text: str | Iterable[str], answer: Callable[[list[str], Sequence[int]], list[str]]
) -> str | list[str] | Iterator[str]:
    """A text is answered with a text, a collection with a list, an iterator with an iterator that reads ahead a little.

    `answer` gets texts and their numbers, from 1.
    """
    if isinstance(text, str):
        return answer([text], [1])[0]
    if isinstance(text, Iterator):
        return by_chunks(text, answer)
    texts = as_list(text)
    return answer(texts, range(1, len(texts) + 1))


def by_chunks(texts: Iterator[str], answer: Callable[[list[str], Sequence[int]], list[str]]) -> Iterator[str]:
    done = 0
    while chunk := [*islice(texts, READ_AHEAD)]:
        yield from answer(chunk, range(done + 1, done + len(chunk) + 1))
        done += len(chunk)


def check_text(texts: Sequence[str], lines: Sequence[int]) -> None:
    """Refuse a lone surrogate: Python strings can hold one, but it is not a character, and UTF-8 cannot encode it."""
    for line, text in zip(lines, texts, strict=True):
        if not isinstance(text, str):
            raise UsageError(f"line {line}: want text, got {described(text)}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise UsageError(
                f"line {line}: character {error.start + 1} is a lone surrogate (U+{code:04X}), which is not text. "
                "It comes from decoding with the wrong encoding: read the text again as UTF-8."
            ) from None
