"""Encodings of text: finds that of a file by its bytes, and turns it into UTF-8.

What the bytes prove is read without asking: UTF-8, and UTF-16 and UTF-32 by their byte order mark or their zero bytes.
An 8-bit encoding can only be guessed, because every byte has a meaning in each of them: `likely_encoding` gives
advice, and the user decides with --encoding.
"""

import codecs
from typing import Protocol

from seqloom.data.letters import SCRIPTS, TABLE, code_points
from seqloom.errors import UsageError, did_you_mean

UTF8 = "utf-8"
# The mark of UTF-32 LE begins with that of UTF-16 LE: the longer ones come first.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be", codecs.BOM_UTF8: UTF8,
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
WIDE = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
# Encodings of one byte per character, and those of East Asia: name and what they are for.
LEGACY = {
    "windows-1252": "Western European, as Windows writes it",
    "windows-1251": "Cyrillic, as Windows writes it",
    "windows-1250": "Central European, as Windows writes it",
    "koi8-r": "Russian",
    "mac-roman": "Western European, as old Macs wrote it",
    "shift_jis": "Japanese",
    "gb18030": "Chinese",
    "big5": "Chinese, traditional",
    "euc-kr": "Korean",
}
MULTI_BYTE = ("shift_jis", "gb18030", "big5", "euc-kr")
NAMES = ("utf-8", "utf-16", "utf-32", "latin-1", *LEGACY)
BROKEN = "seqloom.broken"
codecs.register_error(BROKEN, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


class Readable(Protocol):
    """What bytes are read from: a file, or one that is unpacked or hashed as it is read."""

    def read(self, size: int, /) -> bytes: ...


def check_encoding(name: str) -> str:
    """Return Python's name of an encoding that the user gave; a UsageError for a name that means none."""
    try:
        codec = codecs.lookup(name.strip())
        "".encode(codec.name)  # a codec such as base64 turns no text into bytes
    except (LookupError, ValueError):
        raise UsageError(
            f"--encoding {name}: no such encoding.{did_you_mean(name.lower(), NAMES)} Some: {', '.join(NAMES)}"
        ) from None
    return codec.name


def encoding_of(sample: bytes) -> str:
    """Return the encoding that the bytes prove; UTF-8 where they prove none."""
    for mark, name in MARKS.items():
        if sample.startswith(mark):
            return name
    if 0 in sample:
        for name, width in WIDE.items():
            if reads_as(sample[: len(sample) // width * width], name, width):
                return name
    return UTF8


def reads_as(sample: bytes, name: str, width: int) -> bool:
    """Whether these bytes are text in a wide encoding without a mark: valid, with line ends, and nearly all letters."""
    text = sample.decode(name, "replace")
    if "\n" not in text and "\r" not in text:
        return False
    high = range(width - 1, len(sample), width) if name.endswith("le") else range(0, len(sample), width)
    zeros = sum(sample[place] == 0 for place in high) / max(1, len(high))
    odd = sum(not (letter.isalnum() or letter.isspace() or letter.isascii()) for letter in text) / len(text)
    odd += sum(letter < " " and letter not in "\r\n\t" for letter in text) / len(text)
    foreign = (TABLE.take(code_points(text.replace("\ufffd", "?")), mode="clip") > 0).mean()
    return odd < 0.1 and (zeros > 0.5 or foreign > 0.5)


def likely_encoding(sample: bytes) -> str:
    """Guess the encoding of lines that are not UTF-8, for advice; empty where nothing fits well."""
    scores = {name: plausibility(sample, name) for name in LEGACY}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 0.5 else ""


def plausibility(sample: bytes, name: str) -> float:
    """Return the share of letters among the foreign characters, less those that break a word's case or script."""
    try:
        text = sample.decode(name)
    except UnicodeDecodeError:
        return 0.0
    foreign = [place for place, letter in enumerate(text) if letter > "\x7f"]
    if not foreign:
        return 0.0
    scripts = TABLE.take(code_points(text), mode="clip")
    good = 0.0
    for place in foreign:
        letter, before = text[place], text[max(0, place - 1)]
        if name in MULTI_BYTE:
            hangul = SCRIPTS[scripts[place]] == "Hangul"
            good += hangul if name == "euc-kr" else 0.95 * bool(scripts[place] > 1)
        elif not letter.isalpha():
            good += 0.6 * (letter in "«»“”„‘’…–—€°\xa0¿¡")
        else:
            mixed = before.isalpha() and scripts[place] != scripts[place - 1]
            jumps = before.islower() and letter.isupper()
            shouts = before.isalpha() and letter.isupper()
            good += 1.0 - 0.9 * (mixed or jumps) - 0.3 * (letter not in COMMON) - 0.2 * shouts
    return good / len(foreign)


COMMON = frozenset("éèêëàâäçîïôöùûüßñóíáúœæøåãõ" + "абвгдежзийклмнопрстуфхцчшщъыьэюя" + "ąćęłńśźżčďěňřšťůžőű")
COMMON |= frozenset(letter.upper() for letter in COMMON)


class Transcoded:
    """A stream of UTF-8 that is read from a stream in another encoding, or with the line ends of old Macs.

    Bytes that mean nothing become bytes that are not UTF-8, so that the line is a fault in its place.
    """

    def __init__(self, raw: Readable, encoding: str, line_end: str = "\n") -> None:
        self.raw, self.line_end = raw, line_end
        self.decode = codecs.getincrementaldecoder(encoding)(BROKEN).decode
        self.ended = False

    def read(self, size: int, /) -> bytes:
        """Read about so many bytes; none at the end."""
        while not self.ended:
            block = self.raw.read(size)
            self.ended = not block
            text = self.decode(block, final=self.ended)
            if text:
                return text.replace(self.line_end, "\n").encode("utf-8", "surrogatepass")
        return b""
