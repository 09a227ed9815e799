"""How good outputs are, each task by its own measures: plain strings in, numbers out.

Every metric here is a function of sums over sentences:  score = f(sum_i statistics_i).
So one table of statistics gives the corpus score, the score of any part of it, and every bootstrap resample.
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

Sums = NDArray[np.float64]
References = Sequence[Sequence[str]]  # one list of references a sentence

NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "exact_match": "exact match",
    "token_error_rate": "token error rate",
    "character_error_rate": "character error rate",
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "perplexity": "perplexity",
    "phoneme_error_rate": "phoneme error rate",
    "word_error_rate": "word error rate",
}
LOWER_IS_BETTER = frozenset(name for name in NAMES if name in ("ter", "perplexity") or name.endswith("_error_rate"))

# what a task is measured by, its own first; the first two are also told by length. Perplexity needs the model.
OF_TASK = {
    "translate": ("bleu", "chrf", "ter", "exact_match", "token_error_rate", "character_error_rate"),
    "summarise": ("rouge_1", "rouge_2", "rouge_l", "chrf", "bleu", "exact_match"),
    "dialogue": ("perplexity", "chrf", "bleu", "exact_match"),
    "pronounce": ("phoneme_error_rate", "word_error_rate", "chrf"),
    "denoise": ("perplexity", "chrf", "exact_match"),
}

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


def measure(
    hypotheses: Sequence[str], references: References, target_lang: str = "", task: str = "translate"
) -> dict[str, Measurement]:
    """The metrics of a task that texts alone can tell; TER is left out when it would take longer than TER_SECONDS."""
    check_sizes(hypotheses, references)
    found = {name: MEASURES[name](hypotheses, references, target_lang) for name in OF_TASK[task] if name in MEASURES}
    return {name: measurement for name, measurement in found.items() if measurement is not None}


def bleu(hypotheses: Sequence[str], references: References, target_lang: str = "") -> float:
    """Corpus BLEU alone, 0-100."""
    check_sizes(hypotheses, references)
    score: float = bleu_metric(target_lang).corpus_score(list(hypotheses), streams(references)).score
    return score


def quick_score(
    hypotheses: Sequence[str], references: References, target_lang: str = "", task: str = "translate"
) -> dict[str, float]:
    """The task's first metric that texts alone can tell: cheap enough for every validation."""
    check_sizes(hypotheses, references)
    name = next(name for name in OF_TASK[task] if name in MEASURES)
    measured = MEASURES[name](hypotheses, references, target_lang)
    return {name: measured.score} if measured else {}


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


def wrong_words(hypotheses: Sequence[str], references: References) -> Measurement:
    """The share of words whose output is none of the right pronunciations, in percent."""
    heard = [[" ".join(reference.split()) for reference in known] for known in references]
    right = exact_match([" ".join(hypothesis.split()) for hypothesis in hypotheses], heard)
    wrong = np.column_stack([1 - right.statistics[:, 0], right.statistics[:, 1]])
    return Measurement(wrong, percent, f"{count_signature(references)}|case:mixed|ref:any")


def rouge(kind: str, hypotheses: Sequence[str], references: References) -> Measurement:
    """F1 of the groups of words (rouge1, rouge2) or the longest common subsequence (rougeL), the best reference's."""
    from rouge_score import rouge_scorer  # it brings nltk: only when something is scored

    from seqloom.evaluate.rouge_words import NAME, RougeWords

    scorer = rouge_scorer.RougeScorer([kind], tokenizer=RougeWords())
    pairs = zip(hypotheses, references, strict=True)
    scores = [scorer.score_multi(list(known), output)[kind].fmeasure for output, known in pairs]
    rows = np.column_stack([np.array(scores, dtype=np.float64), np.ones(len(scores))])
    signature = f"{count_signature(references)}|case:lc|tok:{NAME}|stem:porter|f1:mean|rouge-score"
    return Measurement(rows, percent, signature)


def perplexity(log_probs: Sequence[float], num_tokens: Sequence[int]) -> Measurement:
    """exp(-sum of log p / tokens) of given answers; a row each."""
    rows = np.column_stack([np.array(log_probs, dtype=np.float64), np.array(num_tokens, dtype=np.float64)])
    return Measurement(rows, lambda sums: float(np.exp(min(700.0, -sums[0] / max(1.0, sums[1])))), "ref:all|tok:model")


def distinct(texts: Sequence[str], size: int) -> float:
    """Different groups of `size` words, of all such groups, in percent: a model that says one thing has few.

    Li et al. 2016. Without an interval: a resample repeats sentences, so its groups are never as different.
    """
    words = [text.split() for text in texts]
    groups = [tuple(text[i : i + size]) for text in words for i in range(len(text) - size + 1)]
    return 100 * len(set(groups)) / max(1, len(groups))


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


MEASURES: dict[str, Callable[[Sequence[str], References, str], Measurement | None]] = {
    "bleu": lambda outputs, known, lang: measure_sacrebleu(bleu_metric(lang), outputs, known),
    "chrf": lambda outputs, known, lang: measure_sacrebleu(sacrebleu_metric("CHRF"), outputs, known),
    "ter": lambda outputs, known, lang: measure_sacrebleu(sacrebleu_metric("TER"), outputs, known, TER_SECONDS),
    "exact_match": lambda outputs, known, lang: exact_match(outputs, known),
    "token_error_rate": lambda outputs, known, lang: error_rate(outputs, known, str.split, "tok:space"),
    "character_error_rate": lambda outputs, known, lang: error_rate(outputs, known, list, "tok:char"),
    "rouge_1": lambda outputs, known, lang: rouge("rouge1", outputs, known),
    "rouge_2": lambda outputs, known, lang: rouge("rouge2", outputs, known),
    "rouge_l": lambda outputs, known, lang: rouge("rougeL", outputs, known),
    "phoneme_error_rate": lambda outputs, known, lang: error_rate(outputs, known, str.split, "tok:space"),
    "word_error_rate": lambda outputs, known, lang: wrong_words(outputs, known),
}
