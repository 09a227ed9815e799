"""Analogy questions: how often is the word nearest to b - a + c the right one?

A questions file has four words per line, `a b c d` (a is to b as c is to d), and a line `: name` before each section.
Case is ignored. Questions with a word that has no vector are not asked; they are counted as left out.
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

MOST_ANSWERS = 300_000  # only the most frequent words can be answers, as in other tools
QUESTIONS_AT_ONCE = 256
Question = tuple[str, str, str, str]


@dataclass
class Section:
    """Questions of one section: how many were asked, answered correctly, and left out."""

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
    """The 95 % interval of a share (Wilson 1927), valid also if all or none are right."""
    if not asked:
        return 0.0, 1.0
    share, z2 = right / asked, z * z / asked
    middle, half = share + z2 / 2, z * math.sqrt(share * (1 - share) / asked + z2 / 4 / asked)
    return max(0.0, (middle - half) / (1 + z2)), min(1.0, (middle + half) / (1 + z2))


def read_questions(path: Path) -> list[Section]:
    """Read the sections of a questions file; DataError with the line for anything else."""
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
            raise DataError(
                f"{path}, line {line}: {len(words)} word(s): want four words `a b c d`, or `: name` of a section."
            )
    if not any(section.questions for section in sections):
        raise DataError(f"{path}: has no questions. Want lines `a b c d`: a is to b as c is to d.")
    return sections


def answer(vectors: WordVectors, sections: Iterable[Section]) -> None:
    """Answer all questions; fills in `asked` and `right` of each section."""
    row_of: dict[str, int] = {}  # word in capitals -> row of its most frequent spelling
    for row, word in enumerate(vectors.words[:MOST_ANSWERS]):
        row_of.setdefault(word.upper(), row)
    # Only one spelling of each word can be an answer: KING and king are the same word.
    rivals = np.array(sorted(row_of.values()))
    number_of = {int(row): number for number, row in enumerate(rivals)}
    unit = vectors.unit[rivals]
    for section in sections:
        known = [[row_of.get(word.upper()) for word in question] for question in section.questions]
        asked = np.array([[number_of[r] for r in rows if r is not None] for rows in known if None not in rows])
        section.asked = len(asked)
        for rows in chunks(asked):
            section.right += count_right(unit, rows)


def chunks(rows: Any) -> Iterator[Any]:
    return (rows[start : start + QUESTIONS_AT_ONCE] for start in range(0, len(rows), QUESTIONS_AT_ONCE))


def count_right(unit: Any, rows: Any) -> int:
    """Number of questions whose d has the largest cos(d, b - a + c) of all words but a, b and c."""
    a, b, c, d = rows.T
    scores = (unit[b] - unit[a] + unit[c]) @ unit.T  # the length of a query does not change the order
    number = np.arange(len(rows))
    for given in (a, b, c):
        scores[number, given] = -np.inf
    return int((scores.argmax(1) == d).sum())


def total(sections: Sequence[Section]) -> Section:
    return sum(sections, Section("total"))
