"""Noise for texts that a model learns to restore: spans are hidden, sentences are permuted.

    text        the cat sat on the mat . it purred .
    permuted    it purred . the cat sat on the mat .
    infilled    it _ . the cat _ mat .                   a span of any length, also none, becomes one mask

The lengths of spans are Poisson(3), drawn until enough tokens are hidden. Lewis et al. 2020 (BART).
All texts of a batch lie one after the other in one array, so there is no loop over texts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.text.tokenizer import BLANK
from seqloom.text.vocabulary import MASK

Ids = NDArray[np.integer]
Lengths = NDArray[np.int64]
MEAN_SPAN = 3
CLOSERS = "\"'”’»)]"  # may follow the mark that ends a sentence
ENDS = tuple(".!?…")
WIDE_ENDS = tuple("。！？")  # of scripts without blanks


def infill(ids: Ids, lengths: Lengths, hide: float, random: np.random.Generator) -> tuple[Ids, Lengths]:
    """Return (ids, lengths) with about a share `hide` of the tokens of each text masked, one mask per span.

    A text of n visible tokens and k spans is one of the orders of these n + k items, all equally likely.
    """
    hidden = np.floor(hide * lengths + random.random(len(lengths))).astype(np.int64)  # its mean is hide * lengths
    spans, num_spans = draw_spans(hidden, random)
    visible = lengths - hidden
    items = np.concatenate([np.repeat(np.arange(len(lengths)), num) for num in (num_spans, visible)])  # of which text
    widths = np.concatenate([spans, np.ones(len(items) - len(spans), np.int64)])
    order = np.argsort(items + random.random(len(items)))  # text after text, the items of each in random order
    widths, is_mask = widths[order], order < len(spans)
    starts = np.cumsum(widths) - widths  # the items of a text cover all its tokens
    noised = np.full(len(items), MASK, ids.dtype)
    noised[~is_mask] = ids[starts[~is_mask]]
    return noised, num_spans + visible


def draw_spans(hidden: Lengths, random: np.random.Generator) -> tuple[Lengths, Lengths]:
    """Draw lengths of spans that hide this many tokens of each text, text after text, and how many spans each has."""
    drawn = np.empty((len(hidden), 0), np.int64)
    while (drawn.sum(1) < hidden).any():
        more = random.poisson(MEAN_SPAN, (len(hidden), 4 + int(hidden.max()) // MEAN_SPAN))
        drawn = np.concatenate([drawn, more], 1)
    ends = np.cumsum(drawn, 1)
    begins = ends - drawn
    needed = begins < hidden[:, None]
    spans = np.minimum(ends, hidden[:, None]) - begins  # the last one is cut
    return spans[needed], needed.sum(1)


def permute_sentences(ids: Ids, lengths: Lengths, ends: NDArray[np.bool_], random: np.random.Generator) -> Ids:
    """Put the sentences of each text into random order; `ends`: see `sentence_ends`."""
    ends_one, ends_wide, may_begin = ends
    texts = np.repeat(np.arange(len(lengths)), lengths)
    begins = np.ones(len(ids), bool)
    last, this = ids[:-1], ids[1:]
    begins[1:] = (ends_one[last] & may_begin[this]) | ends_wide[last] | (texts[1:] != texts[:-1])
    sentences = np.cumsum(begins) - 1
    keys = random.random(int(begins.sum()))
    order: Ids = ids[np.argsort(texts + keys[sentences], kind="stable")]
    return order


def sentence_ends(pieces: Sequence[str]) -> NDArray[np.bool_]:
    """Three rows (3, V): tokens that end a sentence before a space; those that always end one; those with a space.

    The dots of "3.14" and "example.org" have no space after them. If no token of a vocabulary has a space (BERT marks
    the continuation of a word, not its beginning), any token may begin a sentence.
    """
    bare = [piece.rstrip(CLOSERS) for piece in pieces]
    has_blank = np.array([piece.startswith(BLANK) for piece in pieces])
    may_begin = has_blank if has_blank.any() else ~has_blank
    return np.array(
        [[piece.endswith(ENDS) for piece in bare], [piece.endswith(WIDE_ENDS) for piece in bare], may_begin]
    )
