"""From texts to what a model takes: normalised, tokenised, none longer than its limit.

A text longer than those the model has seen is split at sentence ends, where the outputs of its parts make that of the
whole, as translations do; a sentence over the limit at a comma or a blank, with a warning; only a word over it is cut.
The summaries of sentences are no summary: other texts are cut at the limit, with a warning. What is to be answered in a
dialogue stands last: of turns the oldest are left out.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence

from seqloom.errors import UsageError
from seqloom.runtime.sentences import split_in_two, split_sentences
from seqloom.text.tokenizer import Tokenizer

TURN = " <turn> "  # between the turns of a source, in the training data as here
Warn = Callable[[str], None]
Parts = list[list[int]]  # the ids of each part of a text; no part at all when there is nothing to translate


def prepare(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    *,
    max_tokens: int,
    usual_tokens: int | None = None,
    normalise: str,
    by_sentence: bool = True,
    by_turn: bool = False,
    lines: Sequence[int],
    warn: Warn,
) -> list[Parts]:
    """The parts of each text, in order. `usual_tokens`: hardly a text of the training data is longer."""
    whole = min(max_tokens, usual_tokens or max_tokens)
    prepared: list[Parts] = []
    encoded = encode_texts(texts, tokenizer, normalise, lines)
    for line, text, ids in zip(lines, texts, encoded, strict=True):
        if by_sentence and len(ids) > whole:
            prepared.append(split_long(text, tokenizer, normalise, max_tokens, line, warn))
            continue
        if by_turn and len(ids) > max_tokens:
            ids = last_turns(text, ids, tokenizer, normalise, max_tokens, line, warn)
        prepared.append([cut(ids, max_tokens, "text", line, warn)] if ids else [])
    return prepared


def encode_texts(
    texts: Sequence[str], tokenizer: Tokenizer, normalise: str, lines: Sequence[int] = ()
) -> list[list[int]]:
    """The ids of each text, as in training; none for a text of blanks alone."""
    check_text(texts, lines or range(1, len(texts) + 1))
    if normalise == "nfc":
        texts = [unicodedata.normalize("NFC", text) for text in texts]
    return tokenizer.encode_batch(["" if text.isspace() else text for text in texts])


def split_long(text: str, tokenizer: Tokenizer, normalise: str, max_tokens: int, line: int, warn: Warn) -> Parts:
    code, rest = tokenizer.split_language(text)
    sentences = [f"{code} {sentence.strip()}".lstrip() for sentence in split_sentences(rest) if sentence.strip()]
    parts: Parts = []
    for sentence, ids in zip(sentences, encode_texts(sentences, tokenizer, normalise), strict=True):
        if len(ids) > max_tokens and split_in_two(tokenizer.split_language(sentence)[1]):
            warn(f"line {line}: a sentence of {len(ids):,} tokens, the model takes {max_tokens}: translated in pieces.")
        parts += fit(sentence, ids, tokenizer, normalise, max_tokens, line, warn)
    return parts


def fit(
    text: str, ids: list[int], tokenizer: Tokenizer, normalise: str, max_tokens: int, line: int, warn: Warn
) -> Parts:
    """A sentence as pieces that the model takes: split in two, and each of these again if need be."""
    if len(ids) <= max_tokens:
        return [ids]
    code, rest = tokenizer.split_language(text)
    halves = [f"{code} {half}".lstrip() for half in split_in_two(rest)]
    if not halves:
        return [cut(ids, max_tokens, "word", line, warn)]
    both = zip(halves, encode_texts(halves, tokenizer, normalise), strict=True)
    return [part for half, own in both for part in fit(half, own, tokenizer, normalise, max_tokens, line, warn)]


def last_turns(
    text: str, ids: list[int], tokenizer: Tokenizer, normalise: str, max_tokens: int, line: int, warn: Warn
) -> list[int]:
    """As many of the last turns as the model takes; of a last one that is too long its end."""
    turns = text.rstrip().split(TURN)  # so that the last one is not empty

    def turns_from(first: int) -> list[int]:
        return encode_texts([TURN.join(turns[first:])], tokenizer, normalise)[0]

    first = bisect_left(range(len(turns) - 1), True, key=lambda first: len(turns_from(first)) <= max_tokens)
    kept = turns_from(first)
    lost = len(kept) - max_tokens
    left_out = [f"the oldest {first} of {len(turns)} turns"] if first else []
    left_out += [f"the first {lost:,} tokens of the last"] if lost > 0 else []
    warn(
        f"line {line}: a dialogue of {len(ids):,} tokens, the model takes {max_tokens}: "
        f"{' and '.join(left_out)} were left out."
    )
    return kept[-max_tokens:]


def cut(ids: list[int], max_tokens: int, name: str, line: int, warn: Warn) -> list[int]:
    """The first tokens of a word or a text; a warning when there are more."""
    if len(ids) > max_tokens:
        warn(
            f"line {line}: a {name} of {len(ids):,} tokens, the model takes {max_tokens}: "
            f"the last {len(ids) - max_tokens:,} were cut off. Give a shorter {name}."
        )
    return ids[:max_tokens]


def check_text(texts: Sequence[str], lines: Sequence[int]) -> None:
    """Half of a surrogate pair is no character: Python strings can hold one, UTF-8 cannot."""
    if isinstance(texts, str):  # a sequence of its letters, which nobody means
        raise UsageError("want a list of texts, got one text: put it into a list")
    for line, text in zip(lines, texts, strict=True):
        if not isinstance(text, str):
            raise UsageError(f"line {line}: want text, got {type(text).__name__}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise UsageError(
                f"line {line}: character {error.start + 1} is a lone surrogate (U+{code:04X}), which is no text. "
                "It comes from decoding with the wrong encoding: read the text again as UTF-8."
            ) from None
