"""Metrics of output texts (BLEU, chrF, TER, ROUGE, error rates, exact match): strings in, numbers out.

Every metric is a function of sums over sentences:  score = f(sum_i statistics_i).
So one table of statistics gives the corpus score, the score of any subset, and the score of every bootstrap resample.
BLEU, chrF and TER are sacrebleu's (Post 2018); the error rates are edit distance / reference length (Levenshtein 1966);
ROUGE is that of rouge-score (Lin 2004), the mean of the sentences' F1, over the words of any script (`rouge_words`).
"""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.config.tasks import TASKS

Sums = NDArray[np.float64]
References = Sequence[Sequence[str]]  # one list of references per sentence

# sacrebleu's tokenizer for Japanese needs a dictionary of 40 MB; characters need none. The signature shows the choice.
BLEU_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char"}
TER_SECONDS = 60.0  # on long, bad outputs its search for shifts takes seconds per sentence: hours for a corpus


@dataclass(frozen=True)
class Measurement:
    """One metric on one corpus: one row of statistics per sentence, and the formula from their sums to the score."""

    statistics: Sums  # (sentences, k)
    formula: Callable[[Sums], float]
    signature: str

    @property
    def score(self) -> float:
        return self.formula(self.statistics.sum(axis=0))

    def score_of(self, rows: Any) -> float:
        """The corpus score of these sentences only."""
        return self.formula(self.statistics[rows].sum(axis=0))

    def sentence_scores(self) -> Sums:
        return np.array([self.formula(row) for row in self.statistics])


def measure(
    hypotheses: Sequence[str], references: References, target_lang: str = "", names: Sequence[str] = ()
) -> dict[str, Measurement]:
    """These metrics (default: those of translation), where texts alone are enough.

    TER is left out when it would take longer than TER_SECONDS.
    """
    check_sizes(hypotheses, references)
    functions = {name: METRICS[name].of_texts for name in names or TASKS["translate"].metrics}
    found = {name: of(hypotheses, references, target_lang) for name, of in functions.items() if of is not None}
    return {name: measured for name, measured in found.items() if measured is not None}


def bleu(hypotheses: Sequence[str], references: References, target_lang: str = "") -> float:
    """Corpus BLEU, 0-100."""
    check_sizes(hypotheses, references)
    score: float = bleu_metric(target_lang).corpus_score(list(hypotheses), streams(references)).score
    return score


def quick_score(
    hypotheses: Sequence[str], references: References, target_lang: str, names: Sequence[str]
) -> dict[str, float]:
    """The first of these metrics that needs no model: cheap enough for every validation."""
    first = next(name for name in names if METRICS[name].of_texts is not None)
    found = measure(hypotheses, references, target_lang, [first])
    return {name: measured.score for name, measured in found.items()}


def check_sizes(hypotheses: Sequence[str], references: References) -> None:
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses for {len(references)} sentences: want the same number, and at least one"
        )
    if not all(references):
        raise ValueError("a sentence without a reference cannot be scored")


def streams(references: References) -> list[tuple[str | None, ...]]:
    """References in sacrebleu's order: the first of every sentence, then the second of every sentence (None = none)."""
    return list(itertools.zip_longest(*references))


def sacrebleu_metric(name: str, **options: Any) -> Any:
    """A metric object of sacrebleu."""
    import sacrebleu.metrics  # slow to import, so only when something is scored

    return getattr(sacrebleu.metrics, name)(**options)


def bleu_metric(target_lang: str) -> Any:
    """sacrebleu's BLEU with the tokenizer for this target language."""
    language = target_lang.lower().replace("_", "-").partition("-")[0]
    # force: without it sacrebleu prints a warning about tokenised text into the middle of the output.
    return sacrebleu_metric("BLEU", tokenize=BLEU_TOKENIZERS.get(language, "13a"), force=True)


def measure_sacrebleu(
    metric: Any, hypotheses: Sequence[str], references: References, seconds: float = float("inf")
) -> Measurement | None:
    """A sacrebleu metric as statistics and formula; None if computing the statistics takes too long."""
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
    """Percentage of sentences that equal a reference, ignoring spaces at the ends."""
    hits = [
        hypothesis.strip() in {reference.strip() for reference in known}
        for hypothesis, known in zip(hypotheses, references, strict=True)
    ]
    rows = np.column_stack([np.array(hits, dtype=np.float64), np.ones(len(hits))])
    return Measurement(rows, percent, f"{count_signature(references)}|case:mixed|strip:yes")


def error_rate(
    hypotheses: Sequence[str], references: References, split: Callable[[str], list[str]], signature: str
) -> Measurement:
    """Error rate in percent: edits / reference length; of several references the one with the fewest edits counts."""
    from rapidfuzz.distance import Levenshtein

    rows = []
    for hypothesis, known in zip(hypotheses, references, strict=True):
        output = split(hypothesis.strip())
        wanted = [split(reference.strip()) for reference in known]
        # With equally many edits, the longer reference gives the smaller error rate.
        rows.append(min(((Levenshtein.distance(output, one), len(one)) for one in wanted), key=lambda r: (r[0], -r[1])))
    full = f"{count_signature(references)}|case:mixed|{signature}|ref:nearest"
    return Measurement(np.array(rows, dtype=np.float64), percent, full)


def wrong_words(hypotheses: Sequence[str], references: References) -> Measurement:
    """Word error rate of pronunciations: percentage of words whose output equals no reference."""
    heard = [[" ".join(reference.split()) for reference in known] for known in references]
    right = exact_match([" ".join(hypothesis.split()) for hypothesis in hypotheses], heard)
    wrong = np.column_stack([1 - right.statistics[:, 0], right.statistics[:, 1]])
    return Measurement(wrong, percent, f"{count_signature(references)}|case:mixed|ref:any")


def rouge(kind: str, hypotheses: Sequence[str], references: References) -> Measurement:
    """ROUGE: F1 of n-grams (rouge1, rouge2) or of the longest common subsequence (rougeL), with the best reference."""
    from rouge_score import rouge_scorer  # it brings nltk: only when something is scored

    from seqloom.metrics.rouge_words import NAME, RougeWords

    scorer = rouge_scorer.RougeScorer([kind], tokenizer=RougeWords())
    pairs = zip(hypotheses, references, strict=True)
    scores = [scorer.score_multi(list(known), output)[kind].fmeasure for output, known in pairs]
    rows = np.column_stack([np.array(scores, dtype=np.float64), np.ones(len(scores))])
    signature = f"{count_signature(references)}|case:lc|tok:{NAME}|stem:porter|f1:mean|rouge-score"
    return Measurement(rows, percent, signature)


def perplexity(log_probs: Sequence[float], num_tokens: Sequence[int]) -> Measurement:
    """Perplexity of given texts, exp(-sum of log p / tokens); one row of statistics per text."""
    rows = np.column_stack([np.array(log_probs, dtype=np.float64), np.array(num_tokens, dtype=np.float64)])
    return Measurement(rows, lambda sums: float(np.exp(min(700.0, -sums[0] / max(1.0, sums[1])))), "ref:all|tok:model")


def distinct(texts: Sequence[str], size: int) -> float:
    """distinct-n: percentage of n-grams of words that are different; low for a model that repeats itself.

    Li et al. 2016. It has no interval: a resample repeats sentences, so its n-grams are always less diverse.
    """
    words = [text.split() for text in texts]
    ngrams = [tuple(text[i : i + size]) for text in words for i in range(len(text) - size + 1)]
    return 100 * len(set(ngrams)) / max(1, len(ngrams))


def percent(sums: Sums) -> float:
    """100 * sums[0] / sums[1]; if sums[1] is 0: 0 if sums[0] is 0 too, else 100 (empty references, some output)."""
    part, whole = float(sums[0]), float(sums[1])
    if whole > 0:
        return 100 * part / whole
    return 100.0 if part > 0 else 0.0


def count_signature(references: References) -> str:
    """Number of references in sacrebleu's notation: `nrefs:1`, or `nrefs:var` if it differs between sentences."""
    counts = {len(known) for known in references}
    return f"nrefs:{counts.pop()}" if len(counts) == 1 else "nrefs:var"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its title in reports, and the function of (outputs, references, target language) that measures it."""

    title: str
    of_texts: Callable[[Sequence[str], References, str], Measurement | None] | None  # None: it needs the model
    lower_is_better: bool = False


METRICS: dict[str, Metric] = {
    "bleu": Metric("BLEU", lambda outputs, known, lang: measure_sacrebleu(bleu_metric(lang), outputs, known)),
    "chrf": Metric("chrF", lambda outputs, known, lang: measure_sacrebleu(sacrebleu_metric("CHRF"), outputs, known)),
    "ter": Metric(
        "TER",
        lambda outputs, known, lang: measure_sacrebleu(sacrebleu_metric("TER"), outputs, known, TER_SECONDS),
        lower_is_better=True,
    ),
    "exact_match": Metric("exact match", lambda outputs, known, lang: exact_match(outputs, known)),
    "token_error_rate": Metric(
        "token error rate",
        lambda outputs, known, lang: error_rate(outputs, known, str.split, "tok:space"),
        lower_is_better=True,
    ),
    "character_error_rate": Metric(
        "character error rate",
        lambda outputs, known, lang: error_rate(outputs, known, list, "tok:char"),
        lower_is_better=True,
    ),
    "rouge_1": Metric("ROUGE-1", lambda outputs, known, lang: rouge("rouge1", outputs, known)),
    "rouge_2": Metric("ROUGE-2", lambda outputs, known, lang: rouge("rouge2", outputs, known)),
    "rouge_l": Metric("ROUGE-L", lambda outputs, known, lang: rouge("rougeL", outputs, known)),
    "perplexity": Metric("perplexity", None, lower_is_better=True),
    "phoneme_error_rate": Metric(
        "phoneme error rate",
        lambda outputs, known, lang: error_rate(outputs, known, str.split, "tok:space"),
        lower_is_better=True,
    ),
    "word_error_rate": Metric(
        "word error rate", lambda outputs, known, lang: wrong_words(outputs, known), lower_is_better=True
    ),
}


def title_of(name: str) -> str:
    """The name of a score as reports print it; names of other scores, such as accuracy, are unchanged."""
    return METRICS[name].title if name in METRICS else name
