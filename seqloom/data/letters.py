"""Detect the script of texts, many at once."""

import unicodedata
from collections.abc import Sequence

import numpy as np

# First and last letter of a range, and its script. Han and kana are one: Japanese mixes them.
RANGES = [
    (0x41, 0x5A, "Latin"), (0x61, 0x7A, "Latin"), (0xC0, 0x24F, "Latin"), (0x1E00, 0x1EFF, "Latin"),
    (0x370, 0x3FF, "Greek"), (0x1F00, 0x1FFF, "Greek"), (0x400, 0x52F, "Cyrillic"), (0x531, 0x587, "Armenian"),
    (0x5D0, 0x5F4, "Hebrew"), (0x620, 0x6D3, "Arabic"), (0x6FA, 0x6FF, "Arabic"), (0x750, 0x77F, "Arabic"),
    (0xFB50, 0xFDFF, "Arabic"), (0xFE70, 0xFEFC, "Arabic"), (0x904, 0x97F, "Devanagari"), (0x980, 0x9FF, "Bengali"),
    (0xA00, 0xA7F, "Gurmukhi"), (0xA80, 0xAFF, "Gujarati"), (0xB00, 0xB7F, "Odia"), (0xB80, 0xBFF, "Tamil"),
    (0xC00, 0xC7F, "Telugu"), (0xC80, 0xCFF, "Kannada"), (0xD00, 0xD7F, "Malayalam"), (0xD80, 0xDFF, "Sinhala"),
    (0xE01, 0xE4F, "Thai"), (0xE80, 0xEFF, "Lao"), (0xF40, 0xFBC, "Tibetan"), (0x1000, 0x109F, "Burmese"),
    (0x10A0, 0x10FF, "Georgian"), (0x1C90, 0x1CBF, "Georgian"), (0x1200, 0x139F, "Ethiopic"), (0x1780, 0x17D3, "Khmer"),
    (0x1100, 0x11FF, "Hangul"), (0x3130, 0x318F, "Hangul"), (0xAC00, 0xD7A3, "Hangul"), (0x3041, 0x30FF, "Han"),
    (0x3400, 0x4DBF, "Han"), (0x4E00, 0x9FFF, "Han"), (0xF900, 0xFAFF, "Han"), (0x20000, 0x2FFFF, "Han"),
]  # fmt: skip
SCRIPTS = ("", *dict.fromkeys(script for _, _, script in RANGES))  # 0 = no letter
# Languages that are not written in Latin letters; a language that uses two scripts is left out.
SCRIPT_OF = {
    code: script
    for script, codes in {
        "Greek": "el ell", "Cyrillic": "ru rus uk ukr bg be mk", "Armenian": "hy", "Hebrew": "he heb yi",
        "Arabic": "ar ara fa fas ur ps", "Devanagari": "hi hin mr ne sa", "Bengali": "bn as", "Gujarati": "gu",
        "Tamil": "ta", "Telugu": "te", "Kannada": "kn", "Malayalam": "ml", "Sinhala": "si", "Thai": "th", "Lao": "lo",
        "Tibetan": "bo dz", "Burmese": "my", "Georgian": "ka", "Ethiopic": "am ti", "Khmer": "km", "Hangul": "ko kor",
        "Han": "ja jpn zh zho",
        "Latin": "en eng fr fra de deu es spa it ita pt por nl nld pl pol cs ces sv swe da dan fi fin hu hun tr tur",
    }.items()
    for code in codes.split()
}  # fmt: skip
# Blanks, and characters that show nothing: joiners, marks of direction and of variation, fillers, tags.
FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0"
UNSEEN = frozenset(FILLERS).union(
    letter
    for letter in map(chr, (*range(0x3001), *range(0xFE00, 0xFE10), 0xFEFF, *range(0xE0000, 0xE01F0)))
    if letter.isspace() or unicodedata.category(letter) == "Cf" or unicodedata.name(letter, "").startswith("VARIATION")
)
MIN_LETTERS = 4  # fewer are too few to tell


def script_table() -> np.ndarray:
    table = np.zeros(0x30000, np.uint8)
    for first, last, script in RANGES:
        table[first : last + 1] = SCRIPTS.index(script)
    table[[0xD7, 0xF7]] = 0  # the signs for times and divided by
    return table


TABLE = script_table()


def code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def is_blank(text: str) -> bool:
    """Whether a text shows nothing."""
    return not text.strip() or (not text.isascii() and UNSEEN.issuperset(text))


def scripts_of(texts: Sequence[str]) -> np.ndarray:
    """Return the script of most letters of each text, as an index into SCRIPTS; 0 for a text with too few letters."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    letters = TABLE.take(code_points("".join(texts)), mode="clip")
    width = len(SCRIPTS)
    place = np.repeat(np.arange(len(texts)) * width, lengths) + letters
    counts = np.bincount(place, minlength=len(texts) * width).reshape(-1, width)
    counts[:, 0] = 0
    best = counts.argmax(1)
    return np.where(counts.max(1, initial=0) >= np.maximum(MIN_LETTERS, 0.6 * counts.sum(1)), best, 0).astype(np.uint8)
