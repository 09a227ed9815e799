"""Text with gaps in, text without out: a masked model says what stands in each gap.

GapFiller.load("runs/bert").fill(["the ___ sat on the mat"])     -> ["the cat sat on the mat"]

One gap is one token: a word where the vocabulary has it whole.
"""

from collections.abc import Sequence

from torch import Tensor

from seqloom.errors import UsageError
from seqloom.runtime.parts import Translation
from seqloom.runtime.reading import ReaderModel
from seqloom.text.vocabulary import FIRST_WORD, MASK

GAP = "___"
JOINED_TO_THE_BLANK = ("bpe", "unigram")  # tokenizers whose words hold the blank before them


class GapFiller(ReaderModel):
    tasks = ("masked",)

    def fill(self, texts: Sequence[str]) -> list[str]:
        """Each text with its gaps filled; one without a gap as it is."""
        return [found[0].text for found in self.hypotheses(texts)]

    def answers(self, texts: list[str], n_best: int) -> list[list[Translation]]:
        if n_best > 1:
            self.refuse("n_best")
        found = [[Translation(text, 0.0, 0.0)] for text in texts]
        asked = [place for place, text in enumerate(texts) if GAP in text]
        rows = [self.with_gaps(texts[place]) for place in asked]
        gaps = [[place for place, index in enumerate(ids) if index == MASK] for ids in rows]
        words = self.read(rows, at=[[place + 1 for place in row] for row in gaps])  # + 1: BOS stands before them
        for place, ids, places, probabilities in zip(asked, rows, gaps, words, strict=True):
            found[place] = [self.fill_gaps(ids, places, probabilities)]
        return found

    def with_gaps(self, text: str) -> list[int]:
        """The ids of a text, MASK at each gap."""
        *before, last = text.split(GAP)
        if self.tokenizers.source.kind in JOINED_TO_THE_BLANK:
            before = [part.rstrip(" ") for part in before]
        ids = [index for part in self.pieces(before) for index in (*part.ids, MASK)] + self.pieces([last])[0].ids
        most = self.config.data.max_tokens
        if len(ids) > most:
            raise UsageError(
                f"{text[:40]!r} ...: {len(ids)} tokens, the model takes {most}. Give it less around a gap."
            )
        return ids

    def fill_gaps(self, ids: list[int], gaps: list[int], probabilities: Tensor) -> Translation:
        best, words = probabilities.max(-1)
        filled = dict(zip(gaps, (words + FIRST_WORD).tolist(), strict=True))
        text = self.tokenizers.source.decode([filled.get(place, index) for place, index in enumerate(ids)])
        return Translation(text.strip(), float(best.log().mean()), float(best.log().sum()))


def with_a_gap(text: str) -> str:
    """A text with the word in its middle hidden: something to ask."""
    words = text.split()
    words[len(words) // 2 : len(words) // 2 + 1] = [GAP]
    return " ".join(words)
