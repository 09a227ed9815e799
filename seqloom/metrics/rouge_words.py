"""Word tokenizer for ROUGE that works for any script.

The tokenizer of rouge-score knows only a-z and 0-9: for it a Greek summary has no words, and "Grüße" has two, "gr" and
"e". Here:

    word      consecutive letters, marks and digits, in lower case
    stem      words of only a-z and 0-9 are stemmed as in rouge-score, so scores of English texts do not change
    alone     each character of a script without spaces between words is a word
"""

import unicodedata

from rouge_score.tokenizers import DefaultTokenizer

NAME = "unicode-words"
PARTS_OF_WORDS = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl")
VARIANTS = range(0xFE00, 0xFE10)  # variation selectors of emoji: not part of any word
WITHOUT_BLANKS = (
    range(0xE00, 0xF00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Burmese
    range(0x1780, 0x1800),  # Khmer
    range(0x3005, 0x3008),  # Han signs: repetition, closing, zero
    range(0x3041, 0x3100),  # Hiragana, Katakana
    range(0x31F0, 0x3200),  # small Katakana
    range(0x3400, 0xA000),  # Han
    range(0xF900, 0xFB00),
    range(0xFF66, 0xFF9E),  # narrow Katakana
    range(0x20000, 0x40000),  # rare Han
)


class Spacing(dict[int, str]):
    """Table for str.translate: keeps parts of words, puts spaces around single-character words, drops the rest."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if code in VARIANTS or unicodedata.category(letter) not in PARTS_OF_WORDS:
            self[code] = " "
        else:
            self[code] = f" {letter} " if any(code in script for script in WITHOUT_BLANKS) else letter
        return self[code]


SPACING = Spacing()


class RougeWords:
    """Tokenizer in the form that RougeScorer expects."""

    def __init__(self) -> None:
        self.english = DefaultTokenizer(use_stemmer=True)

    def tokenize(self, text: str) -> list[str]:
        # NFC: an accented letter and a letter followed by a combining accent are the same.
        words = unicodedata.normalize("NFC", text.lower()).translate(SPACING).split()
        return [stem for word in words for stem in (self.english.tokenize(word) if word.isascii() else [word])]
