"""How sure a score is: bootstrap intervals and paired significance (Efron 1979, Koehn 2004).

    resample r draws n of the n sentences with replacement:  score_r = f(sum_i count_ri * statistics_i)

All metrics and both models see the same resamples. Drawn as sacrebleu draws them, so the intervals are sacrebleu's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluate.metrics import Measurement

RESAMPLES = 1000
SEED = 12345  # sacrebleu's
BLOCK = 1 << 22  # drawn sentences held at once: bounds the memory of a test set of any size


@dataclass(frozen=True)
class Estimate:
    """A score with its 95 % interval."""

    score: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class Difference:
    """One model's score minus another's, with its 95 % interval and the chance of such a one between equal models."""

    difference: float
    low: float
    high: float
    p_value: float


def estimate(measurements: dict[str, Measurement]) -> dict[str, Estimate]:
    found = {}
    for name, scores in bootstrap(measurements).items():
        low, high = middle_95(scores)
        measurement = measurements[name]
        found[name] = Estimate(measurement.score, low, high, with_bootstrap(measurement.signature))
    return found


def compare(ours: dict[str, Measurement], theirs: dict[str, Measurement]) -> dict[str, Difference]:
    """Paired bootstrap: ours minus theirs on the same sentences, for each metric that both have."""
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
    """p = share of resamples at least as far from their own mean as the observed difference is from zero.

    Moving the resamples to mean zero is the null hypothesis "no difference". Counting the observed one as well keeps
    p above zero, and no paired test of n sentences can say more than 2^(1-n): all of them differ the same way.
    """
    low, high = middle_95(resampled)
    extreme = np.abs(resampled - resampled.mean()) >= abs(observed)
    p_value = (1 + int(extreme.sum())) / (1 + len(resampled))
    return Difference(observed, low, high, min(1.0, max(p_value, 2.0 ** (1 - num_sentences))))


def bootstrap(measurements: dict[str, Measurement]) -> dict[str, NDArray[np.float64]]:
    """For each metric its score on each resample, (RESAMPLES,)."""
    if not measurements:
        return {}
    sizes = {len(measurement.statistics) for measurement in measurements.values()}
    if len(sizes) != 1:
        raise ValueError(f"metrics over different sentences cannot share resamples: {sorted(sizes)}")
    # All statistics side by side: one matrix product sums the resamples of every metric.
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
    """The interval that leaves one resample in forty out on each side."""
    ordered = np.sort(scores)
    skip = len(ordered) // 40
    return float(ordered[skip]), float(ordered[-1 - skip])


def with_bootstrap(signature: str) -> str:
    """`nrefs:1|case:mixed` -> `nrefs:1|bs:1000|seed:12345|case:mixed`, the way sacrebleu writes it."""
    references, _, rest = signature.partition("|")
    return f"{references}|bs:{RESAMPLES}|seed:{SEED}|{rest}"
