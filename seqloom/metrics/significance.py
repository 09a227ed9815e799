"""Confidence intervals by bootstrap, and paired significance tests (Efron 1979, Koehn 2004).

    resample r draws n of the n sentences with replacement:  score_r = f(sum_i count_ri * statistics_i)

All metrics and both models use the same resamples, which are drawn as in sacrebleu: intervals equal sacrebleu's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.measures import Measurement

RESAMPLES = 1000
SEED = 12345  # sacrebleu's
SIGNIFICANT = 0.05
METHOD = 2  # of comparing: a stored p-value of an earlier method is computed again
BLOCK = 1 << 22  # sentences drawn at once: limits memory for a test set of any size


@dataclass(frozen=True)
class Estimate:
    """A score with its 95 % interval."""

    score: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class Difference:
    """Score of one model minus score of another, with its 95 % interval and its p-value."""

    difference: float
    low: float
    high: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether reports give it a star: p is below 0.05, and so the interval does not touch 0."""
        return self.p_value < SIGNIFICANT

    @property
    def starred_p(self) -> str:
        """`0.012 *`, as reports print it."""
        return f"{self.p_value:.3f}{' *' if self.significant else ''}"


def estimate(measurements: dict[str, Measurement]) -> dict[str, Estimate]:
    """Each score with its 95 % interval."""
    found = {}
    for name, scores in bootstrap(measurements).items():
        low, high = middle_95(scores)
        measurement = measurements[name]
        found[name] = Estimate(measurement.score, low, high, with_bootstrap(measurement.signature))
    return found


def compare(ours: dict[str, Measurement], theirs: dict[str, Measurement]) -> dict[str, Difference]:
    """Paired bootstrap test: ours minus theirs on the same sentences, for each metric that both have."""
    shared = [name for name in ours if name in theirs]
    our_scores = bootstrap({name: ours[name] for name in shared})
    their_scores = bootstrap({name: theirs[name] for name in shared})
    return {
        name: difference_of(
            ours[name].score - theirs[name].score,
            our_scores[name] - their_scores[name],
            len(ours[name].statistics),
        )
        for name in shared
    }


def difference_of(observed: float, resampled: NDArray[np.float64], num_sentences: int) -> Difference:
    """The difference with its interval, and p: the largest of three shares, so that no single doubt is ignored.

    1. Resamples at least as far from their mean as the observed difference is from zero. Shifting the resamples to mean
       zero gives the null hypothesis "no difference". The observed difference is one more resample: p is never 0.
    2. Twice the share of resamples that show no gain of the better model. In lopsided cases, where a few sentences make
       the whole difference, 1 alone would be far too small. So p < 0.05 means that the 95 % interval excludes zero.
    3. 2^(1-n): the probability that n sentences all differ in the same direction by chance.
    """
    low, high = middle_95(resampled)
    far = 1 + int((np.abs(resampled - resampled.mean()) >= abs(observed)).sum())
    no_gain = np.mean(resampled * np.sign(observed) <= 0)
    p_value = max(far / (1 + len(resampled)), 2 * float(no_gain), 2.0 ** (1 - num_sentences))
    return Difference(observed, low, high, min(1.0, p_value))


def bootstrap(measurements: dict[str, Measurement]) -> dict[str, NDArray[np.float64]]:
    """The scores of each metric on all resamples, (RESAMPLES,)."""
    if not measurements:
        return {}
    sizes = {len(measurement.statistics) for measurement in measurements.values()}
    if len(sizes) != 1:
        raise ValueError(f"metrics over different sentences cannot share resamples: {sorted(sizes)}")
    # Concatenated statistics: one matrix product computes the sums of every metric.
    table = np.concatenate([measurement.statistics for measurement in measurements.values()], axis=1)
    sums = resampled_sums(table)
    scores, start = {}, 0
    for name, measurement in measurements.items():
        stop = start + measurement.statistics.shape[1]
        scores[name] = np.array([measurement.formula(row) for row in sums[:, start:stop]])
        start = stop
    return scores


def resampled_sums(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of statistics over each resample, (RESAMPLES, k)."""
    num_sentences = len(statistics)
    random = np.random.default_rng(SEED)
    rows_at_once = max(1, BLOCK // num_sentences)
    blocks = []
    for start in range(0, RESAMPLES, rows_at_once):
        rows = min(rows_at_once, RESAMPLES - start)
        drawn = random.choice(num_sentences, size=(rows, num_sentences), replace=True)
        counts = np.stack([np.bincount(row, minlength=num_sentences) for row in drawn])
        blocks.append(counts.astype(np.float64) @ statistics)
    return np.concatenate(blocks)


def middle_95(scores: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval: leaves out one resample in forty on each side."""
    ordered = np.sort(scores)
    skip = len(ordered) // 40
    return float(ordered[skip]), float(ordered[-1 - skip])


def with_bootstrap(signature: str) -> str:
    """Add the bootstrap to a signature as sacrebleu does: `nrefs:1|case:lc` -> `nrefs:1|bs:1000|seed:12345|case:lc`."""
    references, _, rest = signature.partition("|")
    return f"{references}|bs:{RESAMPLES}|seed:{SEED}|{rest}"
