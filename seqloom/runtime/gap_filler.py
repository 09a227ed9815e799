"""Text with gaps in, text without out: a masked model says what stands in each gap.

GapFiller.load("runs/bert").fill(["the ___ sat on the mat"])     -> ["the cat sat on the mat"]

One gap is one token: a word where the vocabulary has it whole.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from seqloom.errors import UsageError
from seqloom.runtime.engines import Notice
from seqloom.runtime.parts import Translation
from seqloom.runtime.reading import ReaderModel
from seqloom.text.vocabulary import FIRST_WORD, MASK

GAP = "___"
JOINED_TO_THE_BLANK = ("bpe", "unigram")  # tokenizers whose words hold the blank before them


class GapFiller(ReaderModel):
    tasks = ("masked",)

    @classmethod
    def load(
        cls, folder: str | Path, threads: int | None = None, device: str = "cpu", notice: Notice = warnings.warn
    ) -> "GapFiller":
        """`notice` is told when the model was imported without its published head, so that it fills gaps badly."""
        filler = super().load(folder, threads, device)
        if lacks := filler.facts.get("lacks"):
            notice(f"{folder}: imported without {lacks}; what it puts into gaps is bad until it is trained on (--init)")
        return filler

    def fill(self, texts: Sequence[str]) -> list[str]:
        """Each text with its gaps filled; one without a gap as it is."""
        return [found[0].text for found in self.hypotheses(texts)]

    def answers(self, texts: list[str], n_best: int) -> list[list[Translation]]:
        if n_best > 1:
            self.refuse("n_best")
        found = [[Translation(text, 0.0, 0.0)] for text in texts]
        asked = [place for place, text in enumerate(texts) if GAP in text]
        rows = [self.with_gaps(texts[place]) for place in asked]
        at = [[place + 1 for place in gaps] for _, gaps in rows]  # + 1: BOS stands before them
        words = self.read([ids for ids, _ in rows], at)
        for place, (ids, gaps), probabilities in zip(asked, rows, words, strict=True):
            found[place] = [self.fill_gaps(texts[place], ids, gaps, probabilities)]
        return found

    def with_gaps(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a text, MASK at each gap, and where the gaps are: an unknown word has the id of MASK too."""
        *before, last = text.split(GAP)
        if self.tokenizers.source.kind in JOINED_TO_THE_BLANK:
            before = [part.rstrip(" ") for part in before]
        ids: list[int] = []
        gaps = []
        for part in self.pieces(before):
            ids += [*part.ids, MASK]
            gaps.append(len(ids) - 1)
        ids += self.pieces([last])[0].ids
        most = self.config.data.max_tokens
        if len(ids) > most:
            raise UsageError(
                f"{text[:40]!r} ...: {len(ids)} tokens, the model takes {most}. Give it less around a gap."
            )
        return ids, gaps

    def fill_gaps(self, text: str, ids: list[int], gaps: list[int], probabilities: Tensor) -> Translation:
        best, words = probabilities.max(-1)
        filled = dict(zip(gaps, (words + FIRST_WORD).tolist(), strict=True))
        decode = self.tokenizers.source.decode
        if ids.count(MASK) == len(gaps):
            shown = decode([filled.get(place, index) for place, index in enumerate(ids)])
        else:  # unknown words, which only the text can spell
            parts = zip(text.split(GAP), [decode([word]).strip() for word in filled.values()] + [""], strict=True)
            shown = "".join(part + word for part, word in parts)
        return Translation(shown.strip(), float(best.log().mean()), float(best.log().sum()))


def with_a_gap(text: str) -> str:
    """A text with the word in its middle hidden: something to ask."""
    words = text.split()
    words[len(words) // 2 : len(words) // 2 + 1] = [GAP]
    return " ".join(words)
