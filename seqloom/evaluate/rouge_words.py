"""The words of a text as ROUGE counts them, in any script.

rouge-score by itself knows a-z and 0-9 alone: to it a Greek summary has no words, and "Grüße" has two, "gr" and "e".

    word      letters, marks and digits side by side, in lower case
    stem      of a word of a-z and 0-9 alone, as rouge-score does it: what is English scores as ever
    alone     each character of a script that has no blanks between words
"""

import unicodedata

from rouge_score.tokenizers import DefaultTokenizer

NAME = "unicode-words"
PARTS_OF_WORDS = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl")
VARIANTS = range(0xFE00, 0xFE10)  # marks that choose the picture of an emoji: no part of any word
WITHOUT_BLANKS = (
    range(0xE00, 0xF00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Burmese
    range(0x1780, 0x1800),  # Khmer
    range(0x3005, 0x3008),  # signs of Han: repeated, closed, zero
    range(0x3041, 0x3100),  # Hiragana, Katakana
    range(0x31F0, 0x3200),  # small Katakana
    range(0x3400, 0xA000),  # Han
    range(0xF900, 0xFB00),
    range(0xFF66, 0xFF9E),  # narrow Katakana
    range(0x20000, 0x40000),  # rare Han
)


class Spacing(dict[int, str]):
    """For str.translate: what is part of a word stays, what is one by itself stands alone, all else is a blank."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if code in VARIANTS or unicodedata.category(letter) not in PARTS_OF_WORDS:
            self[code] = " "
        else:
            self[code] = f" {letter} " if any(code in script for script in WITHOUT_BLANKS) else letter
        return self[code]


SPACING = Spacing()


class RougeWords:
    """What RougeScorer takes for a tokenizer."""

    def __init__(self) -> None:
        self.english = DefaultTokenizer(use_stemmer=True)

    def tokenize(self, text: str) -> list[str]:
        # Composed, so that an accent counts the same whether it is part of its letter or stands after it.
        words = unicodedata.normalize("NFC", text.lower()).translate(SPACING).split()
        return [stem for word in words for stem in (self.english.tokenize(word) if word.isascii() else [word])]
