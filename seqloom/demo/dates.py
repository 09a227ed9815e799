"""Generated dates as people write them in English and French, each paired with its ISO 8601 date.

Every text has exactly one meaning, by these rules:
- The years are 1950 to 2049, so two digits determine the year: 50-99 is 19xx, 00-49 is 20xx.
- A year of two digits comes last.
- In dates written only with numbers, a year of four digits at the front is followed by month, then day. With the year
  at the end, day and month come in either order, so only unambiguous days are written: above 12, or equal to the month.
  A year of two digits is written only if it cannot be a day (00, or above 31): 25/12/21 could also be 2025-12-21.
- A weekday is always correct and never needed.
- A typo is closer to the intended month than to any other (typos.py).
"""

import random
import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from seqloom.demo.calendar_words import (
    MONTHS,
    WEEKDAYS,
    english_ordinal,
    english_suffix,
    english_year,
    french_number,
    french_year,
)
from seqloom.demo.typos import safe_typos

FIRST_DAY, LAST_DAY = date(1950, 1, 1), date(2049, 12, 31)
NUM_DAYS = (LAST_DAY - FIRST_DAY).days + 1

# {d} day, {m} month, {y} year in any form, {Y} year of four digits.
ENGLISH = (
    "{d} {m} {y}",
    "{d} {m} {y}",
    "{d} {m}, {y}",
    "{d} of {m} {y}",
    "the {d} of {m}, {y}",
    "the {d} of {m} {y}",
    "{m} {d}, {y}",
    "{m} {d}, {y}",
    "{m} {d} {y}",
    "{m} {d} {y}",
    "{d}-{m}-{y}",
    "{Y} {m} {d}",
)
FRENCH = ("{d} {m} {y}", "{d} {m} {y}", "le {d} {m} {y}", "le {d} {m} {y}", "{d}-{m}-{y}", "{d}/{m}/{y}")
YEAR_FIRST = (
    "{year}-{month:02}-{day:02}",
    "{year}/{month:02}/{day:02}",
    "{year}/{month}/{day}",
    "{year}.{month:02}.{day:02}",
    "{year} {month:02} {day:02}",
    "{year}{month:02}{day:02}",
)


def generate(num_pairs: int, seed: int) -> list[tuple[str, str]]:
    """Generate this many pairs (date as written, ISO date) with different inputs; equal seeds give equal pairs."""
    return take_different(stream(seed), num_pairs)


def take_different(pairs: Iterable[tuple[str, str]], number: int) -> list[tuple[str, str]]:
    """Take pairs until there are this many different inputs."""
    found: dict[str, str] = {}
    for text, answer in pairs:
        found[text] = answer
        if len(found) == number:
            break
    return list(found.items())


def stream(seed: int) -> Iterator[tuple[str, str]]:
    """Endless pairs; an input may be repeated, always with the same date."""
    rng = random.Random(seed)
    while True:
        day = FIRST_DAY + timedelta(rng.randrange(NUM_DAYS))
        yield write(day, rng), day.isoformat()


def split_by_date(
    pairs: list[tuple[str, str]], num_held_out: int, seed: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(kept, held out) with different dates, so inputs and answers are unseen.

    All pairs of a date stay together, so slightly more than `num_held_out` may be held out.
    """
    days = sorted({iso for _, iso in pairs})
    random.Random(seed).shuffle(days)
    rank = {iso: number for number, iso in enumerate(days)}
    order = sorted(pairs, key=lambda pair: rank[pair[1]])
    held_days = {iso for _, iso in order[:num_held_out]}
    return [p for p in pairs if p[1] not in held_days], [p for p in pairs if p[1] in held_days]


def write(day: date, rng: random.Random) -> str:
    """A random way to write this day."""
    if rng.random() < 0.2:
        return with_weekday(in_numbers(day, rng), day, rng, rng.choice(("en", "fr")), chance=0.1)
    language = rng.choice(("en", "fr"))
    text = in_words(day, rng, language)
    text = with_weekday(text, day, rng, language, chance=0.2)
    if rng.random() < 0.12:
        text = re.sub(r"(?<=\d) (?=[^\W\d])|(?<=[^\W\d]) (?=\d)|(?<=[.,]) ", "", text)  # 3avril2021; digits stay apart
    return in_case(text, rng)


def in_numbers(day: date, rng: random.Random) -> str:
    unmistakable = day.day > 12 or day.day == day.month
    if not unmistakable or rng.random() < 0.4:
        return rng.choice(YEAR_FIRST).format(year=day.year, month=day.month, day=day.day)
    two_digits = day.year % 100
    short = (two_digits == 0 or two_digits > 31) and rng.random() < 0.4
    year = f"{two_digits:02}" if short else str(day.year)
    pad = rng.choice(("", "02"))
    d, m = format(day.day, pad), format(day.month, pad)
    separator = rng.choice("//.- ")
    month_first = separator != "." and rng.random() < 0.4
    return separator.join((m, d, year) if month_first else (d, m, year))


def in_words(day: date, rng: random.Random, language: str) -> str:
    names = MONTHS[language][day.month]
    month = rng.choice((names[0], rng.choice(names)))
    typos = safe_typos(day.month, names[0])
    if typos and rng.random() < 0.12:
        typo = rng.choice(typos)
        month = typo.capitalize() if month[0].isupper() else typo
    template = rng.choice(ENGLISH if language == "en" else FRENCH)
    spelled = "{Y}" not in template and "-" not in template and "/" not in template and rng.random() < 0.06
    if language == "en":
        d = english_day(day.day, rng, spelled, ordinal="of" in template)
    else:
        d = french_day(day.day, rng, spelled)
    y = year_form(day.year, rng, language, spelled)
    return template.format(d=d, m=month, y=y, Y=day.year)


def english_day(day: int, rng: random.Random, spelled: bool, ordinal: bool) -> str:
    if spelled:
        return english_ordinal(day)  # 'March twenty two thousand three' would be ambiguous, 'twentieth' is not
    if ordinal or rng.random() < 0.3:
        return f"{day}{english_suffix(day)}"
    return format(day, rng.choice(("", "", "02")))


def french_day(day: int, rng: random.Random, spelled: bool) -> str:
    if day == 1 and rng.random() < 0.8:
        return "premier" if spelled else "1er"
    return french_number(day) if spelled else format(day, rng.choice(("", "", "02")))


def year_form(year: int, rng: random.Random, language: str, spelled: bool) -> str:
    if spelled and rng.random() < 0.7:
        return rng.choice(english_year(year) if language == "en" else french_year(year))
    return rng.choices((f"{year}", f"{year % 100:02}", f"'{year % 100:02}"), (70, 20, 10))[0]


def with_weekday(text: str, day: date, rng: random.Random, language: str, chance: float) -> str:
    if rng.random() >= chance:
        return text
    name = rng.choice(WEEKDAYS[language][day.weekday()])
    if text.startswith("le "):
        return f"le {name} {text[3:]}"
    return name + (" " if name.endswith(".") else rng.choice((" ", ", "))) + text


def in_case(text: str, rng: random.Random) -> str:
    """The text unchanged, in lower case, in capitals, or with a capital in each word."""
    kind = rng.choices(("as is", "lower", "upper", "title"), (55, 20, 12, 13))[0]
    if kind == "lower":
        return text.lower()
    if kind == "upper":
        return text.upper()
    return re.sub(r"\b[^\W\d]", lambda first: first[0].upper(), text) if kind == "title" else text
