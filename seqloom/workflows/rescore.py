"""seqloom rescore: re-rank the n-best list of any system by  their score + weight * our log-probability."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from seqloom.data.lines import STDIN, whole_lines
from seqloom.errors import DataError, UsageError
from seqloom.evaluation.render import interval, table
from seqloom.metrics.measures import Measurement, bleu_metric, measure_sacrebleu
from seqloom.metrics.significance import Difference, Estimate, compare, estimate
from seqloom.rerank.combine_scores import Lists, choose, oracle, tune_weight
from seqloom.rerank.n_best_lists import Candidate, read_n_best
from seqloom.runtime.scoring import score_pairs
from seqloom.runtime.translator import Translator

Say = Callable[[str], None]
Progress = Callable[[int], None]
CHUNK_SOURCES = 50  # source lines whose candidates are scored together
MOST_WEIGHT = 1e9
TUNE = "NBEST,SOURCE,REFERENCE"


@dataclass(frozen=True)
class Weight:
    """The weight of our score: the log-probability of a candidate, or its mean over the tokens."""

    value: float
    mean: bool = False

    @property
    def options(self) -> str:
        return f"--weight {self.value:.12g}{' --mean' * self.mean}"


@dataclass
class NBest:
    """The candidates of each source line, and our log-probabilities of all candidates, concatenated."""

    name: str
    candidates: list[list["Candidate"]]
    sources: list[str]
    references: list[str] | None
    log_probs: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    bleu: Measurement | None = None  # of every candidate; computed when it is first needed

    def lists(self, mean: bool) -> Lists:
        theirs = np.array([candidate.score for group in self.candidates for candidate in group])
        starts = np.cumsum([0, *map(len, self.candidates)])
        return Lists(theirs, np.array(self.means if mean else self.log_probs), starts)


@dataclass(frozen=True)
class Gain:
    """BLEU of their order, of the re-ranked order, and of the oracle."""

    scores: dict[str, Estimate]
    difference: "Difference"

    def render(self) -> str:
        rows = [[name, f"{found.score:.2f}", interval(found)] for name, found in self.scores.items()]
        change = self.difference
        notes = [
            f"difference {change.difference:+.2f} ({interval(change)}), p = {change.p_value:.3f}",
            "oracle: the candidate of the highest sentence BLEU in each list, or what is above where that is better",
            f"BLEU: {self.scores['after'].signature}",
        ]
        return "\n".join([table([["", "BLEU", "95 % interval"], *rows]), *notes])


def rescore(
    folders: Sequence[Path],
    n_best: Path,
    source: Path,
    *,
    reference: Path | None = None,
    tune: str | None = None,
    weight: float | None = None,
    mean: bool = False,
    whole_lists: bool = False,
    threads: int | None = None,
    say: Say,
    progress: Progress = lambda done: None,
) -> list[str]:
    """The best candidate of each source line, or the whole lists in their new order, in the format of the input."""
    check_weight(weight, tune, reference, mean)
    tuned_on = split_tune(tune) if tune is not None else None
    check_stdin([n_best, source, reference, *(tuned_on or ())])
    given = read(n_best, source, reference)
    dev = read(*tuned_on) if tuned_on is not None else given
    translator = Translator.load_ensemble(folders, threads=threads, engine="torch")
    for one in [given] if dev is given else [dev, given]:
        doubt_order(one, say)
        score_candidates(translator, one, say, progress)
    chosen = find_weight(dev, translator, say) if weight is None else Weight(weight, mean)
    if weight is None and dev is given:
        say(f"Tuned on the list that it re-ranks, so its BLEU is too high: measure on another, with {chosen.options}")
    if given.references is not None:
        say(measure_gain(given, chosen, translator).render())
    return ranked_lines(given, chosen) if whole_lists else best_texts(given, chosen)


def check_weight(weight: float | None, tune: str | None, reference: Path | None, mean: bool) -> None:
    """Check before anything is read that there is exactly one source of the weight."""
    if weight is not None and tune is not None:
        raise UsageError(f"--weight {weight:g} and --tune {tune}: give either the weight or a list to tune it on.")
    if weight is not None and not 0 <= weight <= MOST_WEIGHT:  # also refuses nan
        raise UsageError(f"--weight {weight:g}: want 0 (their score alone) to {MOST_WEIGHT:g}.")
    if mean and weight is None:
        raise UsageError("--mean goes with --weight: tuning tries both, the sum and the mean.")
    if weight is None and tune is None and reference is None:
        raise UsageError(
            f"no weight: give it with --weight X, or tune it on another list with --tune {TUNE}, "
            "or on this one with --reference FILE."
        )


def check_stdin(files: Sequence[Path | None]) -> None:
    if files.count(STDIN) > 1:
        raise UsageError("- is given more than once, and standard input can be read only once: put one into a file.")


def split_tune(text: str) -> tuple[Path, Path, Path]:
    files = [Path(name.strip()) for name in text.split(",")]
    if len(files) != 3:
        raise UsageError(f"--tune {text}: {len(files)} file(s); want three with commas between them: {TUNE}")
    return files[0], files[1], files[2]


def read(n_best: Path, source: Path, reference: Path | None) -> NBest:
    sources = [*whole_lines(source)]
    if not sources:
        raise DataError(f"{source}: empty; want the source lines of {n_best}.")
    references = None if reference is None else [*whole_lines(reference)]
    if references is not None and len(references) != len(sources):
        raise DataError(
            f"{source} has {len(sources):,} lines, {reference} has {len(references):,}: "
            "want one reference for each source line."
        )
    return NBest(str(n_best), read_n_best(n_best, len(sources)), sources, references)


def doubt_order(given: NBest, say: Say) -> None:
    """Warn if most lists are not in order of their scores: perhaps their scores are costs."""
    odd = sum(group[0].score < max(candidate.score for candidate in group) for group in given.candidates)
    if 2 * odd > len(given.candidates):
        say(
            f"{given.name}: in {odd:,} of {len(given.candidates):,} lists the first candidate does not have the "
            "highest score. If the scores are costs (lower is better), change their sign."
        )


def score_candidates(translator: Translator, given: NBest, say: Say, progress: Progress) -> None:
    """Fill in our log-probabilities."""
    refused = 0
    for start in range(0, len(given.sources), CHUNK_SOURCES):
        groups = given.candidates[start : start + CHUNK_SOURCES]
        sources = [given.sources[start + i] for i, group in enumerate(groups) for _ in group]
        texts = [candidate.text for group in groups for candidate in group]
        scores = iter(score_pairs(translator, sources, texts, warn=lambda message: None))
        for group in groups:
            own = [next(scores) for _ in group]
            refused += own.count(None)
            given.log_probs += or_least([score.log_prob if score else None for score in own])
            given.means += or_least([score.mean if score else None for score in own])
        progress(len(given.log_probs))
    if refused:
        say(
            f"{given.name}: {refused:,} of {len(given.log_probs):,} candidates or their sources are longer than the "
            "model can read, or the source is empty: each counts as less probable than all others in its list."
        )


def or_least(log_probs: list[float | None]) -> list[float]:
    """Missing values become lower than all others; if all are missing, all are equal, and their score decides."""
    behind_all = min((value - 1 for value in log_probs if value is not None), default=0.0)
    return [behind_all if value is None else value for value in log_probs]


def find_weight(dev: NBest, translator: Translator, say: Say) -> Weight:
    """Tune the weight for the sum and for the mean; return the one with the higher BLEU, in a tie the sum."""
    bleu = measure_candidates(dev, translator)
    lists = dev.lists(mean=False)
    before = bleu.score_of(choose(lists, 0.0))
    tuned = {mean: tune_weight(dev.lists(mean), bleu) for mean in (False, True)}
    mean = tuned[True][1] > tuned[False][1]
    weight, after = tuned[mean]
    bound = max(after, bleu.score_of(oracle(lists, bleu)))
    what = "mean log-probability of a token" if mean else "log-probability"
    change = f"BLEU {before:.2f} -> {after:.2f} there, oracle {bound:.2f}"
    say(f"weight {weight:.12g} of the {what}, tuned on {dev.name}: {change}")
    return Weight(weight, mean)


def measure_candidates(given: NBest, translator: Translator) -> Measurement:
    if given.bleu is not None:
        return given.bleu
    assert given.references is not None
    language = translator.config.data.target_lang or translator.facts.get("target_lang") or ""
    texts = [candidate.text for group in given.candidates for candidate in group]
    references = [
        [reference] for group, reference in zip(given.candidates, given.references, strict=True) for _ in group
    ]
    given.bleu = measure_sacrebleu(bleu_metric(language), texts, references)
    assert given.bleu is not None  # None only with a deadline
    return given.bleu


def measure_gain(given: NBest, weight: Weight, translator: Translator) -> Gain:

    bleu = measure_candidates(given, translator)
    lists = given.lists(weight.mean)
    chosen = {"before": choose(lists, 0.0), "after": choose(lists, weight.value)}
    # The candidates with the best sentence BLEU need not have the best corpus BLEU.
    chosen["oracle"] = max([oracle(lists, bleu), *chosen.values()], key=bleu.score_of)
    measured = {name: replace(bleu, statistics=bleu.statistics[places]) for name, places in chosen.items()}
    change = compare({"bleu": measured["after"]}, {"bleu": measured["before"]})
    return Gain(estimate(measured), change["bleu"])


def best_texts(given: NBest, weight: Weight) -> list[str]:
    texts = [candidate.text for group in given.candidates for candidate in group]
    return [texts[place] for place in choose(given.lists(weight.mean), weight.value)]


def ranked_lines(given: NBest, weight: Weight) -> list[str]:
    """The lines of every list, best first; our log-probability is a new feature, the combined score replaces theirs."""
    lists = given.lists(weight.mean)
    combined = lists.theirs + weight.value * lists.ours
    lines = []
    for number, (part, group) in enumerate(zip(lists.parts(), given.candidates, strict=True)):
        for place in np.argsort(-combined[part], kind="stable"):
            ours = f"seqloom= {lists.ours[part][place]:.6f}"
            lines.append(group[place].render(number, combined[part][place], ours))
    return lines
