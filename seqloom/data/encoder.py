"""Encode pairs into token ids, and find those that cannot be used once their tokens are known.

Labels and tags are ids of the target's vocabulary like words; plain text has an empty target, and its long lines are
cut, not left out.
"""

from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.account import Account
from seqloom.data.forms import LABELS, ONE_COLUMN
from seqloom.data.lines import Fault
from seqloom.data.table_readers import Pair
from seqloom.data.too_long import TOO_LONG, UNKNOWN, cut_long
from seqloom.text.labels import as_written
from seqloom.text.sides import Tokenizers
from seqloom.text.tags import tag_pieces
from seqloom.text.vocabulary import UNK

Ids = list[list[int]]


@dataclass(frozen=True)
class Encoded:
    """Pairs with their ids, and the pairs that were left out."""

    pairs: list[Pair]
    sides: tuple[Ids, Ids]
    lengths: NDArray[np.int32]  # (side, pair)
    faults: list[Fault]
    longest: int  # tokens of the longest pair that was left out


class PairEncoder:
    def __init__(self, tokenizers: Tokenizers, config: DataConfig, form: str) -> None:
        self.tokenizers, self.most, self.form = tokenizers, config.max_tokens, form
        largest = max(len(tokenizers.source), len(tokenizers.target))
        self.dtype = np.dtype(np.uint16 if largest <= 1 << 16 else np.uint32)

    def encode(self, pairs: list[Pair], account: Account) -> Encoded:
        """Encode these pairs; a line of plain text that is cut is counted in the account."""
        sides = self.ids_of([pair.source for pair in pairs], [pair.targets[0] for pair in pairs])
        if self.form == "text":
            account.cut += sum(len(ids) > self.most for ids in sides[0])
            pairs, sources = cut_long(pairs, sides[0], self.tokenizers.source, self.most)
            sides = sources, [[] for _ in sources]
        lengths = np.array([[len(ids) for ids in side] for side in sides], np.int32)
        longest = lengths.max(axis=0)
        faults = self.find_faults(pairs, sides[1], longest)
        fits = [fault is None for fault in faults]
        kept = [[*compress(side, fits)] for side in sides]
        too_long = longest[longest > self.most] if self.form != "stream" else longest[:0]
        return Encoded(
            [*compress(pairs, fits)], (kept[0], kept[1]), lengths[:, fits], [fault for fault in faults if fault],
            int(too_long.max(initial=0)),
        )  # fmt: skip

    def find_faults(self, pairs: list[Pair], targets: Ids, longest: NDArray[np.int32]) -> list[Fault | None]:
        """Find why pairs cannot be used, now that their tokens are known; None for a usable pair."""
        faults: list[Fault | None] = [None] * len(pairs)
        for row in np.flatnonzero(longest > self.most).tolist() if self.form != "stream" else ():
            faults[row] = Fault(TOO_LONG, pairs[row].line, f"{longest[row]} tokens, data.max_tokens = {self.most}")
        for row, target in enumerate(targets) if self.form in LABELS else ():
            if UNK in target:
                labels = [label for label in pairs[row].target.split() if UNK in self.tokenizers.target.encode(label)]
                named = ", ".join(dict.fromkeys(labels))
                named = as_written(named) if self.form == "labelled" else named  # a tag holds no blank
                faults[row] = Fault(UNKNOWN, pairs[row].line, named)
        return faults

    def ids_of(self, sources: list[str], targets: list[str]) -> tuple[Ids, Ids]:
        source, target = self.tokenizers.source, self.tokenizers.target
        if self.form in ONE_COLUMN:
            return source.encode_batch(sources), [[] for _ in targets]
        if self.form == "tagged":
            tags = target.encode_batch([" ".join(text.split()) for text in targets])  # split at Python's blanks
            return source.encode_batch(sources), [*map(tag_pieces, sources, source.spans_batch(sources), tags)]
        if source is target:  # two sentencepiece models may share a vocabulary and still split texts differently
            both = source.encode_batch(sources + targets)
            return both[: len(sources)], both[len(sources) :]
        return source.encode_batch(sources), target.encode_batch(targets)
