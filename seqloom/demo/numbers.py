"""Generated numbers in words, English and French, each paired with its digits: ordinals, decimals and negatives too.

    twelve thousand and five          12005         le vingt et unième         21.
    minus trois virgule zéro quatre   -3.04         two million                not written: up to 999,999

Every text has exactly one meaning. An ordinal is written with a full stop behind it, as in German or Danish, and a
decimal with a point.
"""

import random
from collections.abc import Iterator

from seqloom.demo.calendar_words import ENGLISH_ORDINALS, english_number, french_number
from seqloom.demo.dates import take_different

LARGEST = 999_999
FRENCH_ORDINALS = {"cinq": "cinquième", "neuf": "neuvième", "un": "unième"}


def generate(num_pairs: int, seed: int) -> list[tuple[str, str]]:
    """This many pairs (number in words, digits) with different inputs; equal seeds give equal pairs."""
    return take_different(stream(seed), num_pairs)


def stream(seed: int) -> Iterator[tuple[str, str]]:
    """Endless pairs; small numbers are as frequent as large ones."""
    rng = random.Random(seed)
    while True:
        number = rng.randrange(10 ** rng.randint(1, 6))
        french = rng.random() < 0.5
        words, kind = french_words(number) if french else english_words(number, rng), rng.random()
        if kind < 0.15 and number:
            yield (french_ordinal(number) if french else english_ordinal(words)), f"{number}."
        elif kind < 0.3:
            decimals = str(rng.randrange(10 ** rng.randint(1, 3)))
            spoken = " ".join(french_number(int(d)) if french else english_number(int(d)) for d in decimals)
            yield f"{words} {'virgule' if french else 'point'} {spoken}", f"{number}.{decimals}"
        elif kind < 0.35 and number:
            yield f"{'moins' if french else 'minus'} {words}", f"-{number}"
        else:
            yield words, str(number)


def english_words(number: int, rng: random.Random) -> str:
    """0 to 999,999: with and without "and" before the last two digits."""
    joint = " and " if rng.random() < 0.5 else " "
    thousands, rest = divmod(number, 1000)
    if not thousands:
        return english_hundreds(rest, joint)
    start = f"{english_hundreds(thousands, joint)} thousand"
    if not rest:
        return start
    return start + (joint if rest < 100 else " ") + english_hundreds(rest, joint)


def english_hundreds(number: int, joint: str) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return english_number(rest)
    start = f"{english_number(hundreds)} hundred"
    return f"{start}{joint}{english_number(rest)}" if rest else start


def english_ordinal(words: str) -> str:
    """The ordinal of a number in words: twenty-one -> twenty-first, forty -> fortieth."""
    place = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[place:]
    ending = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return words[:place] + ENGLISH_ORDINALS.get(last, ending)


def french_words(number: int) -> str:
    """0 to 999,999: deux cents, deux cent un, deux cent mille; mille has no s."""
    thousands, rest = divmod(number, 1000)
    if not thousands:
        return french_hundreds(rest)
    start = "mille" if thousands == 1 else f"{french_hundreds(thousands, plural=False)} mille"
    return f"{start} {french_hundreds(rest)}" if rest else start


def french_hundreds(number: int, plural: bool = True) -> str:
    """0 to 999; without a plural s before mille: deux cent mille, quatre-vingt mille."""
    hundreds, rest = divmod(number, 100)
    words = french_number(rest) if rest or not hundreds else ""
    if not plural and rest == 80:
        words = words.removesuffix("s")
    if not hundreds:
        return words
    start = "cent" if hundreds == 1 else f"{french_number(hundreds)} cent"
    if not rest:
        return start + ("s" if hundreds > 1 and plural else "")
    return f"{start} {words}"


def french_ordinal(number: int) -> str:
    """1 to 999,999: premier, deuxième, vingt et unième, cinquième, neuvième, deux centième."""
    if number == 1:
        return "premier"
    words = french_words(number)
    place = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[place:]
    if last in ("cents", "vingts"):
        last = last[:-1]
    return words[:place] + FRENCH_ORDINALS.get(last, f"{last.removesuffix('e')}ième")
