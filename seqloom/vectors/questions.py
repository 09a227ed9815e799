"""Analogy questions: how often is the word nearest to b - a + c the right one?

A file of questions has four words a line, `a b c d` (a is to b as c is to d), and `: name` before each section.
Case does not matter. A question with a word that has no vector is not asked, and is counted.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.data.lines import Fault, read_lines
from seqloom.errors import DataError
from seqloom.vectors.word_vectors import WordVectors

MOST_ANSWERS = 300_000  # answers are sought among the most frequent words, as other tools do
QUESTIONS_AT_ONCE = 256
Question = tuple[str, str, str, str]


@dataclass
class Section:
    """How many questions of a kind were asked, how many answered right, how many left out."""

    name: str
    questions: list[Question] = field(default_factory=list)
    asked: int = 0
    right: int = 0

    @property
    def left_out(self) -> int:
        return len(self.questions) - self.asked

    def __add__(self, other: "Section") -> "Section":
        questions = self.questions + other.questions
        return Section(self.name, questions, self.asked + other.asked, self.right + other.right)

    def to_json(self) -> dict[str, Any]:
        low, high = wilson(self.right, self.asked)
        return {
            "section": self.name,
            "asked": self.asked,
            "right": self.right,
            "left_out": self.left_out,
            "accuracy": self.right / self.asked if self.asked else None,
            "low": low,
            "high": high,
        }


def wilson(right: int, asked: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927): right also when all or none are."""
    if not asked:
        return 0.0, 1.0
    share, z2 = right / asked, z * z / asked
    middle, half = share + z2 / 2, z * math.sqrt(share * (1 - share) / asked + z2 / 4 / asked)
    return max(0.0, (middle - half) / (1 + z2)), min(1.0, (middle + half) / (1 + z2))


def read_questions(path: Path) -> list[Section]:
    sections: list[Section] = []
    for line, text in enumerate(read_lines(path), 1):
        if isinstance(text, Fault):
            raise DataError(f"{path}, line {line}: {text.kind}: {text.detail}.")
        words = text.split()
        if words[:1] == [":"] or text.startswith(":"):
            sections.append(Section(text[1:].strip()))
        elif len(words) == 4:
            sections = sections or [Section("")]
            sections[-1].questions.append((words[0], words[1], words[2], words[3]))
        elif words:
            raise DataError(f"{path}, line {line}: {len(words)} word(s): want `a b c d`, or `: name` of a section.")
    if not any(section.questions for section in sections):
        raise DataError(f"{path}: no question in it. Want `a b c d` a line: a is to b as c is to d.")
    return sections


def answer(vectors: WordVectors, sections: Iterable[Section]) -> None:
    """Fill in what was asked and right."""
    place_of: dict[str, int] = {}  # of any spelling, the most frequent one
    for place, word in enumerate(vectors.words[:MOST_ANSWERS]):
        place_of.setdefault(word.upper(), place)
    # One spelling of each word can be an answer: KING is no other word than king.
    rivals = np.array(sorted(place_of.values()))
    number_of = {int(place): number for number, place in enumerate(rivals)}
    unit = vectors.unit[rivals]
    for section in sections:
        known = [[place_of.get(word.upper()) for word in question] for question in section.questions]
        asked = np.array([[number_of[p] for p in places if p is not None] for places in known if None not in places])
        section.asked = len(asked)
        for rows in chunks(asked):
            section.right += count_right(unit, rows)


def chunks(rows: Any) -> Iterator[Any]:
    return (rows[start : start + QUESTIONS_AT_ONCE] for start in range(0, len(rows), QUESTIONS_AT_ONCE))


def count_right(unit: Any, rows: Any) -> int:
    """cos(d, b - a + c) is largest for the d asked for, when a, b and c are no answers."""
    a, b, c, d = rows.T
    scores = (unit[b] - unit[a] + unit[c]) @ unit.T  # the length of a query changes no order
    number = np.arange(len(rows))
    for given in (a, b, c):
        scores[number, given] = -np.inf
    return int((scores.argmax(1) == d).sum())


def total(sections: Sequence[Section]) -> Section:
    return sum(sections, Section("total"))
