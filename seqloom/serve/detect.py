"""Detect the language of a text among the served ones, by its script, its most common words and its letters.

    score(l) = sum over words and letters of the text of log(p(seen | l) / p(seen | any))
    confidence(l) = exp(score(l)) / sum over the served of exp(score)

Without any evidence, all served languages are equally likely, and so is their confidence.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqloom.data.letters import SCRIPT_OF, SCRIPTS, TABLE, code_points
from seqloom.serve.languages import base
from seqloom.serve.words import LETTERS, WORDS

MOST_CHARACTERS = 2000  # read per text; more add nothing
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
GAIN = 1.6  # nats for a common word of a language; the more languages share it, the less it says
LETTER_GAIN = 1.2  # nats for a letter that is not in every alphabet
LOSS = -0.35  # nats for a word that is common elsewhere, or a letter of others
WRONG_SCRIPT = -8.0  # nats, times the share of letters in another script
KANA = re.compile(r"[\u3040-\u30ff]")
OTHER_SCRIPTS = {"sr": "Cyrillic", "kk": "Cyrillic", "mn": "Cyrillic", "ku": "Latin", "yi": "Hebrew", "pa": "Gurmukhi"}


@dataclass(frozen=True, slots=True)
class Guess:
    language: str
    confidence: float  # 0 to 100


def detect(text: str, served: Sequence[str]) -> list[Guess]:
    """The served languages, most probable first; except for the first, those under 1 % are left out."""
    scores = scores_of(unicodedata.normalize("NFC", text[:MOST_CHARACTERS]).lower(), [base(code) for code in served])
    top = max(scores, default=0.0)
    weights = [math.exp(score - top) for score in scores]
    guesses = [Guess(code, round(100 * weight / sum(weights), 1)) for code, weight in zip(served, weights, strict=True)]
    guesses.sort(key=lambda guess: -guess.confidence)
    return guesses[:1] + [guess for guess in guesses[1:] if guess.confidence >= 1]


def scores_of(text: str, codes: Sequence[str]) -> list[float]:
    words, letters = WORD.findall(text), [*filter(str.isalpha, text)]
    scripts = np.bincount(TABLE.take(code_points(text), mode="clip"), minlength=len(SCRIPTS))[1:]
    scores = [script_score(code, scripts, text) for code in codes]
    for word in words:
        add(scores, [word.replace("’", "'") in WORDS.get(code, ()) for code in codes], GAIN)
    for letter in letters:
        if letter > "z":
            add(scores, [letter in LETTERS.get(code, "") for code in codes], LETTER_GAIN)
    return scores


def add(scores: list[float], has: list[bool], gain: float) -> None:
    """Count one word or letter for the languages that have it, a little against the others; nothing if all have it."""
    if any(has) and not all(has):
        for place, found in enumerate(has):
            scores[place] += gain if found else LOSS


def script_score(code: str, scripts: np.ndarray, text: str) -> float:
    """The penalty of a language if the text is in another script; kana distinguish Japanese from Chinese."""
    own = OTHER_SCRIPTS.get(code) or SCRIPT_OF.get(code) or ("Latin" if code in WORDS else "")
    if not own or not scripts.sum():
        return 0.0
    if code in ("ja", "zh") and scripts[SCRIPTS.index("Han") - 1]:
        return 0.0 if bool(KANA.search(text)) == (code == "ja") else WRONG_SCRIPT / 2
    return WRONG_SCRIPT * (1 - scripts[SCRIPTS.index(own) - 1] / scripts.sum())
