"""Texts in capitals, for models that know few of them: read in lower case, and answered in capitals again.

    WE ARE HERE. COME!   read as   We are here. Come!        -> Nous sommes ici. Viens !   written as   NOUS SOMMES ...

The setting data.lower_capitals asks for it. Names lose their capital, which costs less than words that were hardly ever
seen. The cards of the bundled translators have the scores of sentences in capitals.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from seqloom.config import DataConfig
from seqloom.runtime.inputs import count_cases, is_in_capitals
from seqloom.runtime.parts import Translation

FIRST_LETTER = re.compile(r"(?:^|(?<=[.!?…]\s))\W*\w")
ENGLISH_I = re.compile(r"\bi\b")


def read_capitals(texts: Sequence[str], data: DataConfig) -> tuple[Sequence[str], list[bool]]:
    """The texts as they are read, and which of them are in capitals."""
    loud = [data.lower_capitals and is_in_capitals(*count_cases(text)) for text in texts]
    if not any(loud):
        return texts, loud
    english = data.source_lang.startswith("en")
    return [lowered(text, english) if is_loud else text for text, is_loud in zip(texts, loud, strict=True)], loud


def lowered(text: str, english: bool) -> str:
    """The text in lower case, with a capital where a sentence begins."""
    found = FIRST_LETTER.sub(lambda first: first.group().upper(), text.lower())
    return ENGLISH_I.sub("I", found) if english else found


def write_capitals(ranked: list[list[Translation]], loud: Sequence[bool]) -> list[list[Translation]]:
    """The outputs, in capitals for the texts that are."""
    return [
        [replace(output, text=output.text.upper()) for output in outputs] if is_loud else outputs
        for outputs, is_loud in zip(ranked, loud, strict=True)
    ]
