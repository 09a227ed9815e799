"""Typos in the names of months that leave no doubt which month was meant."""

from functools import cache

from seqloom.demo.calendar_words import MONTHS, WEEKDAYS

LETTERS = "abcdefghijklmnopqrstuvwxyzéû"
SHORTEST = 5  # in shorter names one typo can give another month: 'mai', 'mars', 'may' and 'mar'


def bare(name: str) -> str:
    """A name in lower case, without the full stop of an abbreviation."""
    return name.lower().rstrip(".")


@cache
def safe_typos(month: int, name: str) -> tuple[str, ...]:
    """The typos of this name that are at least two edits away from every other month and every weekday.

    Edits are those of Damerau (1964): a letter is lost, added, replaced, or swapped with its neighbour. A typo is one
    edit away from the intended month and at least two from all others, so the nearest name is always the right one.
    """
    word = bare(name)
    if len(word) < SHORTEST:
        return ()
    others = {bare(other) for names in MONTHS.values() for m, forms in names.items() if m != month for other in forms}
    others |= {bare(day) for days in WEEKDAYS.values() for forms in days for day in forms}
    near_others = others.union(*map(one_edit, others))
    return tuple(sorted(slips(word) - near_others))


def slips(word: str) -> set[str]:
    """Common typos of a word: a letter lost, doubled, swapped with the next, or replaced by another."""
    doubled = {word[: i + 1] + word[i:] for i in range(len(word))}
    return (lost(word) | doubled | swapped(word) | replaced(word)) - {word}


@cache
def one_edit(word: str) -> set[str]:
    """Every string one edit away."""
    added = {word[:i] + letter + word[i:] for i in range(len(word) + 1) for letter in LETTERS}
    return lost(word) | added | swapped(word) | replaced(word)


def lost(word: str) -> set[str]:
    return {word[:i] + word[i + 1 :] for i in range(len(word))}


def swapped(word: str) -> set[str]:
    return {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}


def replaced(word: str) -> set[str]:
    return {word[:i] + letter + word[i + 1 :] for i in range(len(word)) for letter in LETTERS}
