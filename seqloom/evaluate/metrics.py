"""How good translations are: plain strings in, numbers out.

Every metric here is a function of sums over sentences:  score = f(sum_i statistics_i).
So one table of statistics gives the corpus score, the score of any part of it, and every bootstrap resample.
BLEU, chrF and TER are sacrebleu's (Post 2018); the error rates are edit distance / reference length (Levenshtein 1966).
"""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sums = NDArray[np.float64]
References = Sequence[Sequence[str]]  # one list of references a sentence

NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "exact_match": "exact match",
    "token_error_rate": "token error rate",
    "character_error_rate": "character error rate",
}
LOWER_IS_BETTER = frozenset({"ter", "token_error_rate", "character_error_rate"})

# sacrebleu's own choice for Japanese needs a dictionary of 40 MB; characters need nothing, and the signature says so.
BLEU_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char"}
TER_SECONDS = 60.0  # its search for shifts takes seconds a sentence on long, bad output: hours for a corpus


@dataclass(frozen=True)
class Measurement:
    """One metric over one corpus: a row of statistics a sentence, and the formula from their sums to the score."""

    statistics: Sums  # (sentences, k)
    formula: Callable[[Sums], float]
    signature: str

    @property
    def score(self) -> float:
        return self.formula(self.statistics.sum(axis=0))

    def score_of(self, rows: Any) -> float:
        """The corpus score of these sentences alone."""
        return self.formula(self.statistics[rows].sum(axis=0))

    def sentence_scores(self) -> Sums:
        return np.array([self.formula(row) for row in self.statistics])


def measure(hypotheses: Sequence[str], references: References, target_lang: str = "") -> dict[str, Measurement]:
    """Every metric of NAMES; TER is left out when it would take longer than TER_SECONDS."""
    check_sizes(hypotheses, references)
    found = {
        "bleu": measure_sacrebleu(bleu_metric(target_lang), hypotheses, references),
        "chrf": measure_sacrebleu(sacrebleu_metric("CHRF"), hypotheses, references),
        "ter": measure_sacrebleu(sacrebleu_metric("TER"), hypotheses, references, seconds=TER_SECONDS),
        "exact_match": exact_match(hypotheses, references),
        "token_error_rate": error_rate(hypotheses, references, str.split, "tok:space"),
        "character_error_rate": error_rate(hypotheses, references, list, "tok:char"),
    }
    return {name: measurement for name, measurement in found.items() if measurement is not None}


def bleu(hypotheses: Sequence[str], references: References, target_lang: str = "") -> float:
    """Corpus BLEU alone, 0-100: cheap enough for every validation."""
    check_sizes(hypotheses, references)
    score: float = bleu_metric(target_lang).corpus_score(list(hypotheses), streams(references)).score
    return score


def check_sizes(hypotheses: Sequence[str], references: References) -> None:
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses for {len(references)} sentences: want as many, and at least one"
        )
    if not all(references):
        raise ValueError("a sentence without a reference cannot be scored")


def streams(references: References) -> list[tuple[str | None, ...]]:
    """What sacrebleu wants: the first references of all sentences, then the second ones (None where there is none)."""
    return list(itertools.zip_longest(*references))


def sacrebleu_metric(name: str, **options: Any) -> Any:
    import sacrebleu.metrics  # slow to import, so only when something is scored

    return getattr(sacrebleu.metrics, name)(**options)


def bleu_metric(target_lang: str) -> Any:
    language = target_lang.lower().replace("_", "-").partition("-")[0]
    # force: a corpus of tokenised text is the user's right, and the warning would land in the middle of the output.
    return sacrebleu_metric("BLEU", tokenize=BLEU_TOKENIZERS.get(language, "13a"), force=True)


def measure_sacrebleu(
    metric: Any, hypotheses: Sequence[str], references: References, seconds: float = float("inf")
) -> Measurement | None:
    """A sacrebleu metric as statistics and formula; None when extracting the statistics takes too long."""
    deadline = time.monotonic() + seconds
    rows = []
    for hypothesis, prepared in zip(hypotheses, metric._cache_references(streams(references)), strict=True):
        if time.monotonic() > deadline:
            return None
        rows.append(metric._compute_segment_statistics(metric._preprocess_segment(hypothesis), prepared))

    def formula(sums: Sums) -> float:
        score: float = metric._compute_score_from_stats(sums.tolist()).score
        return score

    return Measurement(np.array(rows, dtype=np.float64), formula, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: References) -> Measurement:
    """The share of sentences that equal a reference, spaces at the ends aside, in percent."""
    hits = [
        hypothesis.strip() in {reference.strip() for reference in known}
        for hypothesis, known in zip(hypotheses, references, strict=True)
    ]
    rows = np.column_stack([np.array(hits, dtype=np.float64), np.ones(len(hits))])
    return Measurement(rows, percent, f"{count_signature(references)}|case:mixed|strip:yes")


def error_rate(
    hypotheses: Sequence[str], references: References, split: Callable[[str], list[str]], signature: str
) -> Measurement:
    """edits / reference length, in percent: of several references the one with the fewest edits counts."""
    from rapidfuzz.distance import Levenshtein

    rows = []
    for hypothesis, known in zip(hypotheses, references, strict=True):
        output = split(hypothesis.strip())
        wanted = [split(reference.strip()) for reference in known]
        # As many edits to a longer reference are the smaller error.
        rows.append(min(((Levenshtein.distance(output, one), len(one)) for one in wanted), key=lambda r: (r[0], -r[1])))
    full = f"{count_signature(references)}|case:mixed|{signature}|ref:nearest"
    return Measurement(np.array(rows, dtype=np.float64), percent, full)


def percent(sums: Sums) -> float:
    """100 * sums[0] / sums[1]; of nothing it is 0 when nothing is counted, else 100 (empty references, some output)."""
    part, whole = float(sums[0]), float(sums[1])
    if whole > 0:
        return 100 * part / whole
    return 100.0 if part > 0 else 0.0


def count_signature(references: References) -> str:
    """`nrefs:1`, or `nrefs:var` when sentences differ, as sacrebleu writes it."""
    counts = {len(known) for known in references}
    return f"nrefs:{counts.pop()}" if len(counts) == 1 else "nrefs:var"
