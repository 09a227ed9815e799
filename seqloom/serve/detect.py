"""Detect the language of a text among the served ones, with py3langid, which carries its model (140 languages).

    confidence(l) = p(l | text) / sum over the served of p(. | text)

The model is a naive Bayes classifier over byte n-grams. If it finds none that it knows, all served languages are
equally likely, and so is their confidence. A served language that it does not know gets an equal share.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from seqloom.serve.languages import base

MOST_CHARACTERS = 2000  # read per text; more add nothing
SAME = {"nb": "no"}  # codes that the model has under another name
loading = Lock()


@dataclass(frozen=True, slots=True)
class Guess:
    language: str
    confidence: float  # 0 to 100


@cache
def load_identifier() -> Any:
    """The model, read when it is first needed: half a second of work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def load() -> None:
    """Read the model once, in whichever thread comes first."""
    with loading:
        load_identifier()


def is_loaded() -> bool:
    return bool(load_identifier.cache_info().currsize)


def detect(text: str, served: Sequence[str]) -> list[Guess]:
    """The served languages, most probable first; except for the first, those under 1 % are left out."""
    weights = probabilities(text, [SAME.get(base(code), base(code)) for code in served])
    guesses = [Guess(code, round(100 * weight, 1)) for code, weight in zip(served, weights, strict=True)]
    guesses.sort(key=lambda guess: -guess.confidence)
    return guesses[:1] + [guess for guess in guesses[1:] if guess.confidence >= 1]


def probabilities(text: str, codes: Sequence[str]) -> list[float]:
    """The probability of each language, given that it is one of these."""
    load()
    identifier = load_identifier()
    known = set(identifier.labels)
    # Blanks around the text: the model knows the beginnings and ends of words by them.
    found = dict(identifier.rank(f" {text[:MOST_CHARACTERS]} ")) if text.strip() else {}
    total = sum(found.get(code, 0.0) for code in codes)
    equal = 1 / max(1, len(codes))
    if not total:
        return [equal] * len(codes)
    rest = sum(code in known for code in codes) * equal
    return [rest * found[code] / total if code in known else equal for code in codes]
