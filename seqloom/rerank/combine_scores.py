"""Re-rank n-best lists by a weighted sum of two scores, theirs + weight * ours; the weight is tuned for corpus BLEU.

choose         argmax_k theirs_k + weight * ours_k
tune_weight    the weight with the highest corpus BLEU: exact line search, Och 2003
oracle         argmax_k sentence BLEU, which needs the reference: the best that any re-ranking of the lists can reach
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.measures import Measurement, sacrebleu_metric

Floats = NDArray[np.float64]
Places = NDArray[np.int64]  # indices of candidates, counted over all lists


@dataclass(frozen=True)
class Lists:
    """Scores of the candidates of all sentences, concatenated: sentence s has those from starts[s] to starts[s + 1]."""

    theirs: Floats
    ours: Floats
    starts: Places

    def parts(self) -> list[slice]:
        """The candidates of each sentence."""
        return [slice(int(a), int(b)) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]


def choose(lists: Lists, weight: float) -> Places:
    """The index of the best candidate of each sentence; in a tie the first."""
    combined = lists.theirs + weight * lists.ours
    return np.array([part.start + np.argmax(combined[part]) for part in lists.parts()], dtype=np.int64)


def tune_weight(lists: Lists, bleu: Measurement) -> tuple[float, float]:
    """The weight >= 0 with the highest BLEU, and that BLEU; in a tie the lowest weight. `bleu` has all candidates.

    As a function of the weight, the score of each candidate is a line, so the best candidate of a sentence changes only
    where two lines cross. Between neighbouring crossings of all sentences BLEU is constant: each interval is tried
    once, at its middle.
    """
    switches = [switch for part in lists.parts() for switch in switches_of(lists, part)]
    switches.sort()
    crossings = [0.0, *sorted({weight for weight, _, _ in switches if weight > 0})]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(crossings)]
    sums = bleu.statistics[choose(lists, 0.0)].sum(axis=0)
    best_weight, best = 0.0, bleu.formula(sums)
    done = 0
    for middle in [*middles, 2 * crossings[-1] + 1]:
        while done < len(switches) and switches[done][0] < middle:
            _, before, after = switches[done]
            sums = sums + bleu.statistics[after] - bleu.statistics[before]
            done += 1
        if (score := bleu.formula(sums)) > best:
            best_weight, best = middle, score
    return best_weight, best


def switches_of(lists: Lists, part: slice) -> list[tuple[float, int, int]]:
    """Where the best candidate of a sentence changes as the weight grows from 0: (weight, before, after) each."""
    theirs, ours = lists.theirs[part], lists.ours[part]
    now, weight = int(np.argmax(theirs)), 0.0
    found: list[tuple[float, int, int]] = []
    while True:
        steeper = np.flatnonzero(ours > ours[now])
        if not len(steeper):
            return found
        meets = np.maximum((theirs[now] - theirs[steeper]) / (ours[steeper] - ours[now]), weight)
        weight = float(meets.min())
        first = steeper[meets == weight]
        after = int(first[np.argmax(ours[first])])  # where several lines meet, the steepest is best beyond
        found.append((weight, part.start + now, part.start + after))
        now = after


def oracle(lists: Lists, bleu: Measurement) -> Places:
    """The candidate of each sentence with the highest sentence BLEU; other choices may have a higher corpus BLEU."""
    scorer = sacrebleu_metric("BLEU", effective_order=True)  # a sentence may be shorter than four words
    scores = np.array([scorer._compute_score_from_stats(row.tolist()).score for row in bleu.statistics])
    return np.array([part.start + np.argmax(scores[part]) for part in lists.parts()], dtype=np.int64)
