"""Which characters of a text each token covers, for texts that were read and for texts that a model wrote."""

from collections.abc import Sequence

from seqloom.explain.document import Side, Token
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import UNK
from seqloom.text.written import BROKEN

Span = tuple[int, int]


def side_of(tokenizer: Tokenizer, ids: Sequence[int], text: str, words: Sequence[int]) -> Side:
    """The text and its tokens `ids`, special tokens included; `words` are those of them that spell the text, in order.

    `words` must be a run of `ids`: special tokens come before and behind.
    """
    spans: list[Span | None] = [*spans_of(tokenizer, words, text)]
    before = next((place for place in range(len(ids)) if list(ids[place : place + len(words)]) == list(words)), 0)
    spans = [None] * before + spans + [None] * (len(ids) - before - len(words))
    pieces = tokenizer.pieces(ids)
    return Side(text, [Token(*each) for each in zip(ids, pieces, spans, strict=True)])


def spans_of(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[Span | None]:
    """The characters of `text` that each of these tokens covers; None where that cannot be said."""
    if not ids:
        return []
    canonical = tokenizer.encode(text)
    if canonical[: len(ids)] == list(ids):  # perhaps the beginning of a longer text
        return [span if span[1] > span[0] else None for span in tokenizer.spans_batch([text])[0][: len(ids)]]
    return written_spans(tokenizer, ids, text)


def written_spans(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[Span | None]:
    """The same for tokens that a model chose itself: where the text of the first k tokens ends.

    A model may split words as the tokenizer would not. An incomplete character belongs to all of its bytes.
    """
    full = tokenizer.decode(ids)
    if UNK in ids or text not in full:  # decoding drops <unk>
        return [None] * len(ids)
    lead = full.index(text)  # blanks that the text was stripped of
    spans: list[Span | None] = []
    whole = 0  # characters that are complete
    for number in range(1, len(ids) + 1):
        so_far = tokenizer.decode(ids[:number])
        start, whole = whole, max(whole, shared(so_far, full))
        end = start + 1 if whole == start and BROKEN in so_far else whole  # a byte of the next character
        span = (max(0, start - lead), min(len(text), max(0, end - lead)))
        spans.append(span if span[1] > span[0] else None)
    return spans


def shared(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
