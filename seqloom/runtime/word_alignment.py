"""Word alignment of given pairs from attention: which source word each target word translates.

    a(w, v) = mean over the pieces of target word w of the sum over the pieces of source word v of alpha
    b(w, v) = a(w, v) / (FREE + sum_w' a(w', v))       a source word with attention from many is shared among them
    link v-w  where v = argmax b(w, .)  and  b(w, v) / sum_v' b(w, v') >= LEAST

alpha is the attention at the step that predicts a target piece; in a Transformer, the mean over the heads of the upper
layers. Words are separated by ASCII spaces, as in other tools. docs/log.md lists what was tried.
"""

import re
import unicodedata
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.models.api import Seq2Seq
from seqloom.models.traced_attention import forced_attention
from seqloom.runtime.inputs import Warn
from seqloom.runtime.scoring import ForcedBatch, encode_pairs, forced_batches, remember
from seqloom.runtime.translator import Translator
from seqloom.text.tokenizer import Tokenizer

Link = tuple[int, int]  # source word, target word, from 0
WORD = re.compile(r"[^ \t\n\r\f\v]+")
FREE = 0.1  # lets a single target word still prefer the source word with most attention
LEAST = 0.25  # smallest share of the best source word; below it a target word has no link
NOWHERE = -1


def align_words(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    lines: Sequence[int] = (),
    warn: Warn = warnings.warn,
) -> list[list[Link] | None]:
    """The links of each pair, in order; None, and a warning, for a pair that is too long for the model."""
    if translator.config.data.normalise == "nfc":
        sources, targets = ([unicodedata.normalize("NFC", text) for text in side] for side in (sources, targets))
    pairs = encode_pairs(translator, sources, targets, lines=lines, warn=warn)
    source_words = words_of_pieces(translator.tokenizers.source, sources)
    target_words = words_of_pieces(translator.tokenizers.target, targets)
    found: list[list[Link] | None] = [None] * len(pairs)
    for batch in forced_batches(translator, pairs):
        for row, weights in zip(batch.rows, look(translator.model, batch), strict=True):
            found[row] = links(weights, source_words[row], target_words[row])
    return found


@torch.inference_mode()
def look(model: Seq2Seq, batch: ForcedBatch) -> NDArray[np.float32]:
    """Attention weights (B, T, S): row i of a pair is the attention when target piece i is written."""
    return forced_attention(model, remember(model, batch), batch.tgt_in).cpu().numpy()


def words_of_pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """For each text the word number of each piece; NOWHERE for a piece of spaces."""
    found = []
    for text, spans in zip(texts, tokenizer.spans_batch(texts), strict=True):
        word_at = np.full(len(text), NOWHERE)
        for word, match in enumerate(WORD.finditer(text)):
            word_at[match.start() : match.end()] = word
        found.append(np.array([word_at[start:end].max(initial=NOWHERE) for start, end in spans], dtype=np.int64))
    return found


def links(weights: NDArray[np.float32], source_words: NDArray[np.int64], target_words: NDArray[np.int64]) -> list[Link]:
    """From the attention of pieces (T, S) to the source word of each target word; ignores padding and </s>."""
    source_pieces, target_pieces = np.flatnonzero(source_words >= 0), np.flatnonzero(target_words >= 0)
    if not len(source_pieces) or not len(target_pieces):
        return []
    rows, columns = target_words[target_pieces], source_words[source_pieces]
    a = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(a, (rows[:, None], columns[None, :]), weights[np.ix_(target_pieces, source_pieces)])
    a /= np.maximum(1, np.bincount(rows))[:, None]  # a mean over the pieces of a target word
    b = a / (FREE + a.sum(0))
    best, total = b.argmax(1), b.sum(1)
    return sorted((int(v), w) for w, v in enumerate(best) if 0 < LEAST * total[w] <= b[w, v])
