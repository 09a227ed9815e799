"""One tag a word -> one tag a piece: the last piece of each word carries its tag, the others none (PAD).

    words   the   unlikely   end          tags   DET ADJ NOUN
    pieces  the ▁un like ly ▁end          tags   DET PAD PAD ADJ NOUN

The last and not the first: there a network that reads forward has seen the whole word. So a tagged text is as long on
both sides, and the loss is taken where there is a tag.
"""

from bisect import bisect_right
from collections.abc import Sequence

from seqloom.text.vocabulary import PAD

Span = tuple[int, int]  # where a piece stands in its text: first and last + 1 character
NO_WORD = -1


def tag_pieces(text: str, spans: Sequence[Span], tags: Sequence[int]) -> list[int]:
    """The tag ids of a text's words, laid over its pieces."""
    found = [PAD] * len(spans)
    for tag, place in zip(tags, last_pieces(words_of_pieces(text, spans), len(tags)), strict=True):
        if place is not None:
            found[place] = tag
    return found


def last_pieces(words: Sequence[int], num_words: int) -> list[int | None]:
    """For each word the place of its last piece; None for one that the tokenizer threw away."""
    places: list[int | None] = [None] * num_words
    for place, word in enumerate(words):
        if word != NO_WORD:
            places[word] = place
    return places


def words_of_pieces(text: str, spans: Sequence[Span]) -> list[int]:
    """For each piece the number of its word; a piece may begin with the blank before its word, so its end counts."""
    word_at = number_words(text)
    return [word_at[end - 1] if end else NO_WORD for _, end in spans]


def number_words(text: str) -> list[int]:
    """For each character the number of its word, from 0, as str.split() parts them; a blank has NO_WORD."""
    numbers, word, inside = [], -1, False
    for letter in text:
        if letter.isspace():
            inside = False
            numbers.append(NO_WORD)
        else:
            word += not inside
            inside = True
            numbers.append(word)
    return numbers


def cut_at_words(words: Sequence[int], most: int) -> list[slice]:
    """Pieces in parts of at most `most`, each as long as can be, that begin with a word; a longer word is cut."""
    begins = [0] + [place for place, word in enumerate(words) if place and word not in (NO_WORD, words[place - 1])]
    parts, start = [], 0
    while len(words) - start > most:
        last = begins[bisect_right(begins, start + most) - 1]
        end = last if last > start else start + most
        parts.append(slice(start, end))
        start = end
    return [*parts, slice(start, len(words))]
