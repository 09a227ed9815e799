"""N-best lists in the format of Moses: `id ||| text ||| features ||| score`, ids from 0, best first.

Three fields (`id ||| text ||| score`) are accepted too, and fields after the score (alignments) are kept. Every source
line needs its id, in order: a list that does not fit its source is refused, with the line, before scoring starts.
"""

import math
from pathlib import Path

import msgspec

from seqloom.data.lines import whole_lines
from seqloom.errors import DataError

BAR = "|||"
FORM = f"id {BAR} text {BAR} features {BAR} score"


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One line of an n-best list, without its id."""

    text: str
    score: float
    features: str = ""
    rest: tuple[str, ...] = ()  # fields after the score

    def render(self, number: int, score: float, features: str) -> str:
        """The line of this candidate with a new score and with these features added."""
        added = f"{self.features} {features}".strip()
        return f" {BAR} ".join([str(number), self.text, added, f"{score:.6f}", *self.rest])


def read_n_best(path: Path, num_sources: int) -> list[list[Candidate]]:
    """Read the candidates of each source line."""
    lists: list[list[Candidate]] = []
    for line, text in enumerate(whole_lines(path), 1):
        number, candidate = parse_candidate(text, f"{path}, line {line}")
        if not 0 <= number < num_sources:
            raise DataError(
                f"{path}, line {line}: id {number}, but the source has {num_sources:,} lines: ids 0 to "
                f"{num_sources - 1:,}. Give the source file that these candidates belong to."
            )
        if number not in (len(lists) - 1, len(lists)):
            raise DataError(f"{path}, line {line}: {misplaced(number, len(lists) - 1)}")
        if number == len(lists):
            lists.append([])
        lists[number].append(candidate)
    if len(lists) < num_sources:
        end = f"ends with id {len(lists) - 1}" if lists else "holds no candidate"
        raise DataError(
            f"{path}: {end}, but the source has {num_sources:,} lines, ids 0 to {num_sources - 1}. Is the file cut off?"
        )
    return lists


def misplaced(number: int, last: int) -> str:
    """The error for an id that is out of order."""
    if last < 0:
        return f"the first id is {number}; ids count the lines of the source from 0."
    if number < last:
        return f"id {number} after id {last}: want ids in order. `sort -s -n -k1,1` sorts the file."
    return f"id {number} after id {last}: no candidate for id {last + 1}. Every source line needs at least one."


def parse_candidate(text: str, where: str) -> tuple[int, Candidate]:
    fields = [field.strip() for field in text.split(BAR)]
    if len(fields) < 3:
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise DataError(
            f"{where}: {len(fields)} field(s) separated by {BAR}: {shown!r}. Want {FORM}, or id {BAR} text {BAR} score."
        )
    if not (fields[0].isascii() and fields[0].isdecimal() and len(fields[0]) < 18):
        raise DataError(
            f"{where}: id {fields[0]!r}: want the number of a source line, counted from 0. The format is {FORM}."
        )
    features, score, *rest = fields[2:] if len(fields) > 3 else ["", fields[2]]
    return int(fields[0]), Candidate(fields[1], parse_score(score, where), features, tuple(rest))


def parse_score(text: str, where: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(f"{where}: score {text!r}: want a number, higher is better. The format is {FORM}.")
    return score
