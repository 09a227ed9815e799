"""Which source word each target word translates, read from the attention of a model that is shown both.

    a(w, v) = mean over the pieces of target word w of the sum over the pieces of source word v of alpha
    b(w, v) = a(w, v) / (FREE + sum_w' a(w', v))       a source word that many look at is shared among them
    link v-w  where v = argmax b(w, .)  and  b(w, v) / sum_v' b(w, v') >= LEAST

The look for a target piece is the one that predicts it; of a Transformer the mean of the upper layers and their heads.
Words stand between blanks of ASCII, as other tools count them. docs/log.md tells what was tried.
"""

import re
import unicodedata
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.models.api import Seq2Seq
from seqloom.runtime.alignment import forced_attention
from seqloom.runtime.inputs import Warn
from seqloom.runtime.teacher_forcing import ForcedBatch, encode_pairs, forced_batches, remember
from seqloom.runtime.translator import Translator
from seqloom.text.tokenizer import Tokenizer

Link = tuple[int, int]  # source word, target word, from 0
WORD = re.compile(r"[^ \t\n\r\f\v]+")
FREE = 0.1  # attention that a source word may draw unshared: a single target word still knows where it looks most
LEAST = 0.25  # share of its best source word; a target word that is less sure has no link
NOWHERE = -1


def align_words(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    lines: Sequence[int] = (),
    warn: Warn = warnings.warn,
) -> list[list[Link] | None]:
    """The links of each pair, in order; None, and a warning, for a pair that the model cannot take in one piece."""
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
    """(B, T, S): row i of a pair is where the model looks to write its target piece i."""
    return forced_attention(model, remember(model, batch), batch.tgt_in).cpu().numpy()


def words_of_pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """For each text the word that each of its pieces belongs to; NOWHERE for a piece of blanks."""
    found = []
    for text, spans in zip(texts, tokenizer.spans_batch(texts), strict=True):
        word_at = np.full(len(text), NOWHERE)
        for word, match in enumerate(WORD.finditer(text)):
            word_at[match.start() : match.end()] = word
        found.append(np.array([word_at[start:end].max(initial=NOWHERE) for start, end in spans], dtype=np.int64))
    return found


def links(weights: NDArray[np.float32], source_words: NDArray[np.int64], target_words: NDArray[np.int64]) -> list[Link]:
    """(T, S) attention of pieces -> the source word of each target word; padding and </s> are no words."""
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
