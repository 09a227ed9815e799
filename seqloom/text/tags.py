"""Tags per word -> tags per subword: the last piece of each word gets its tag, the other pieces get PAD.

    words   the   unlikely   end          tags   DET ADJ NOUN
    pieces  the ▁un like ly ▁end          tags   DET PAD PAD ADJ NOUN

The last piece and not the first, because there a network that reads forward has seen the whole word. So source and
target have the same length, and the loss counts only positions with a tag.
"""

from bisect import bisect_right
from collections.abc import Sequence

from seqloom.text.vocabulary import PAD

Span = tuple[int, int]  # characters of the text that a piece covers: first, last + 1
NO_WORD = -1  # the word number of a space


def tag_pieces(text: str, spans: Sequence[Span], tags: Sequence[int]) -> list[int]:
    """One tag id per piece, from one tag id per word."""
    found = [PAD] * len(spans)
    for tag, piece in zip(tags, last_pieces(words_of_pieces(text, spans), len(tags)), strict=True):
        if piece is not None:
            found[piece] = tag
    return found


def last_pieces(words: Sequence[int], num_words: int) -> list[int | None]:
    """The index of each word's last piece; None for a word that the tokenizer dropped."""
    last: list[int | None] = [None] * num_words
    for piece, word in enumerate(words):
        if word != NO_WORD:
            last[word] = piece
    return last


def words_of_pieces(text: str, spans: Sequence[Span]) -> list[int]:
    """The word number of each piece, by its last character: its first may be the space before the word."""
    word_at = number_words(text)
    return [word_at[end - 1] if end else NO_WORD for _, end in spans]


def number_words(text: str) -> list[int]:
    """The word number of each character, counted from 0, with words as in str.split(); NO_WORD for a space."""
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
    """Split pieces before words into parts of at most `most`, as long as possible; a word longer than that is cut."""
    begins = [0] + [piece for piece, word in enumerate(words) if piece and word not in (NO_WORD, words[piece - 1])]
    parts, start = [], 0
    while len(words) - start > most:
        last = begins[bisect_right(begins, start + most) - 1]
        end = last if last > start else start + most
        parts.append(slice(start, end))
        start = end
    return [*parts, slice(start, len(words))]
