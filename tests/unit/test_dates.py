"""The date corpus, checked by a reader of its own: it knows the rules, not the generator's templates."""

import re
import subprocess
import sys
from datetime import date
from functools import cache
from itertools import islice

import pytest
from rapidfuzz.distance import OSA

from seqloom.demo.calendar_words import english_number, english_ordinal, french_number
from seqloom.demo.dates import generate, split_by_date, stream
from seqloom.demo.typos import safe_typos
from seqloom.workflows.demo import EXAMPLES

MONTH_NAMES = {
    1: "january jan janvier janv",
    2: "february feb février fevrier févr fév fev",
    3: "march mar mars",
    4: "april apr avril avr",
    5: "may mai",
    6: "june jun juin",
    7: "july jul juillet juil",
    8: "august aug août aout",
    9: "september sep sept septembre",
    10: "october oct octobre",
    11: "november nov novembre",
    12: "december dec décembre decembre déc",
}
MONTH_OF = {name: month for month, names in MONTH_NAMES.items() for name in names.split()}
WEEKDAY_NAMES = {
    0: "monday mon lundi lun",
    1: "tuesday tue mardi",
    2: "wednesday wed mercredi mer",
    3: "thursday thu jeudi jeu",
    4: "friday fri vendredi ven",
    5: "saturday sat samedi sam",
    6: "sunday sun dimanche dim",
}
WEEKDAY_OF = {name: place for place, names in WEEKDAY_NAMES.items() for name in names.split()}
SMALL_WORDS = {"the", "of", "le", "and", "et", "st", "nd", "rd", "th", "er"}
NUMBER_WORDS = """
1 one first un premier,2 two second deux,3 three third trois,4 four fourth quatre,5 five fifth cinq,6 six sixth,
7 seven seventh sept,8 eight eighth huit,9 nine ninth neuf,10 ten tenth dix,11 eleven eleventh onze,
12 twelve twelfth douze,13 thirteen thirteenth treize,14 fourteen fourteenth quatorze,15 fifteen fifteenth quinze,
16 sixteen sixteenth seize,17 seventeen seventeenth,18 eighteen eighteenth,19 nineteen nineteenth,
20 twenty twentieth vingt vingts,30 thirty thirtieth trente,40 forty quarante,50 fifty cinquante,60 sixty soixante,
70 seventy,80 eighty,90 ninety,100 cent,1000 thousand mille mil
"""
VALUES = {word: int(row.split()[0]) for row in NUMBER_WORDS.split(",") for word in row.split()[1:]}
ORDINALS = {word for word in VALUES if word.endswith(("th", "first", "second", "third"))}
YEARS = range(1950, 2050)


def readings(text: str) -> set[str]:
    """Every ISO date this text can mean by the rules the corpus promises."""
    words = re.findall(r"\d+|[^\W\d_]+", text.lower())
    words = [word for word in words if word not in SMALL_WORDS and word not in WEEKDAY_OF]
    parts = numeric_parts(words) if all(map(str.isdigit, words)) else named_parts(words)
    return {f"{year}-{month:02}-{day:02}" for year, month, day in parts if is_date(year, month, day)}


def is_date(year: int, month: int, day: int) -> bool:
    try:
        return date(year, month, day).year in YEARS
    except ValueError:
        return False


def numeric_parts(words):
    """Year first, day first or month first; a year of two digits may stand at either end."""
    if len(words) == 1:
        (digits,) = words
        assert len(digits) == 8
        cuts = [(digits[:4], digits[4:6], digits[6:]), (digits[:2], digits[2:4], digits[4:])]
    else:
        cuts = [tuple(words)]
    for a, b, c in cuts:
        yield from ((year, int(b), int(c)) for year in years(a))
        yield from ((year, int(b), int(a)) for year in years(c))
        yield from ((year, int(a), int(b)) for year in years(c))


def named_parts(words):
    """Around each word that can be a month: day before and year after, year (four digits) before, or both after."""
    for place, word in enumerate(words):
        if (month := nearest_month(word)) is None:
            continue
        before, after = words[:place], words[place + 1 :]
        for day_words, year_words in [(before, after), *((after[:i], after[i:]) for i in range(len(after)))]:
            if before and day_words is not before:
                continue
            yield from ((year, month, day) for day in days(day_words) for year in years(*year_words))
        if len(before) == 1 and len(before[0]) == 4:
            yield from ((year, month, day) for day in days(after) for year in years(*before))


@cache
def nearest_month(word: str) -> int | None:
    """The one month within one edit; two months equally near are a fault of the corpus."""
    near = {month: OSA.distance(word, name) for name, month in MONTH_OF.items() if OSA.distance(word, name) <= 1}
    exact = {month for month in near if word in MONTH_NAMES[month].split()}
    months = exact or (set(near) if word not in VALUES and len(word) > 3 else set())
    assert len(months) <= 1, word
    return min(months, default=None)


def days(words):
    if len(words) == 1 and words[0].isdigit():
        return [int(words[0])] if len(words[0]) <= 2 else []
    if not words or not set(words) <= set(VALUES) or set(words[:-1]) & ORDINALS:
        return []
    return [count(words)]


def years(*words):
    if len(words) == 1 and words[0].isdigit():
        if len(words[0]) == 2:
            return [2000 + int(words[0]) if int(words[0]) < 50 else 1900 + int(words[0])]
        return [int(words[0])] if len(words[0]) == 4 else []
    if not words or not set(words) <= set(VALUES) - ORDINALS:
        return []
    paired = words[0] in ("nineteen", "twenty") and count(words[1:]) >= 10
    return [VALUES[words[0]] * 100 + count(words[1:]) if paired else count(words)]


def count(words) -> int:
    """quatre-vingt-dix = 4 * 20 + 10, mille neuf cent = 1000 + 9 * 100, two thousand and three = 2 * 1000 + 3."""
    total, pending = 0, 0
    for value in map(VALUES.__getitem__, words):
        if value == 1000:
            total, pending = (pending or 1) * 1000, 0
        elif value == 100:
            pending *= 100
        elif value == 20 and pending % 100 == 4:
            pending += 76
        else:
            pending += value
    return total + pending


def test_every_input_has_exactly_one_reading():
    for text, iso in islice(stream(seed=11), 30_000):
        assert readings(text) == {iso}, text


@pytest.mark.parametrize(
    ("text", "num_readings"),
    [("3/4/2021", 2), ("25/12/21", 2), ("04-05-06", 3), ("20/20/2021", 0), ("3 foo 2021", 0), ("3/3/2021", 1)],
)
def test_the_reader_itself_sees_what_is_ambiguous_or_no_date(text, num_readings):
    assert len(readings(text)) == num_readings


def test_no_input_maps_to_two_dates_in_a_large_sample():
    seen = {}
    for text, iso in islice(stream(seed=12), 200_000):
        assert seen.setdefault(text, iso) == iso
        assert iso == text or date.fromisoformat(iso).year in YEARS
    assert len(seen) > 150_000


@pytest.mark.parametrize(("text", "iso"), EXAMPLES)
def test_the_examples_of_the_demo_keep_the_rules_too(text, iso):
    assert readings(text) == {iso}
    for word in text.split():
        assert WEEKDAY_OF.get(word.lower()) in (None, date.fromisoformat(iso).weekday())


def test_a_weekday_is_the_right_one():
    named = 0
    for text, iso in islice(stream(seed=13), 20_000):
        for word in re.findall(r"[^\W\d_]+", text.lower()):
            if word in WEEKDAY_OF:
                named += 1
                assert date.fromisoformat(iso).weekday() == WEEKDAY_OF[word], text
    assert named > 2_000


def test_a_typo_stays_nearest_to_its_month():
    """All of them, not a sample: one edit from the month meant, two from each other month and from each weekday."""
    for name, month in MONTH_OF.items():
        typos = safe_typos(month, name)
        assert bool(typos) == (len(name) >= 5), name
        others = [other for other, of in MONTH_OF.items() if of != month] + list(WEEKDAY_OF)
        for typo in typos:
            assert OSA.distance(typo, name) == 1
            assert min(OSA.distance(typo, other) for other in others) >= 2, (typo, name)
    assert "juiller" in safe_typos(7, "juillet")
    assert "octbore" in safe_typos(10, "octobre")


def test_the_same_seed_gives_the_same_pairs_in_any_process():
    code = "from seqloom.demo.dates import generate; print(generate(300, 5))"
    runs = [
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, check=True)
        for hash_seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.decode().strip() == str(generate(300, 5))
    assert generate(300, 5) != generate(300, 6)
    assert generate(300, 5) == generate(400, 5)[:300]


def test_inputs_are_distinct_one_line_and_have_no_tab():
    texts = [text for text, _ in generate(20_000, 3)]
    assert len(set(texts)) == len(texts) == 20_000
    assert not any(re.search(r"[\t\n\r]|^ | $|  ", text) for text in texts)


def test_every_kind_of_date_is_there():
    texts = [text for text, _ in generate(20_000, 4)]
    kinds = {
        "French": r"avril|juillet|\ble\b",
        "English": r"April|July|\bthe\b",
        "English ordinal": r"\d(st|nd|rd|th)\b",
        "French ordinal": r"\b1er\b",
        "ordinal in words": r"\w(first|th\b)|premier",
        "year in words": r"nineteen|deux mille|thousand",
        "month first": r"^[A-Z][a-z]+ \d+, \d{4}$",
        "year of two digits": r"^\d+ [a-zé]+ \d\d$",
        "apostrophe": r"'\d\d$",
        "missing spaces": r"^\d+[a-zé]{3,}\.?\d+$",
        "abbreviation": r"\bavr\.|\bSept\.",
        "capitals": r"[A-Z]{4}",
        "dotted": r"^\d\d\.\d+\.\d{4}$",
        "American numbers": r"^0?[1-9]/(1[3-9]|2\d|3[01])/\d",
        "eight digits": r"^\d{8}$",
        "ISO itself": r"^\d{4}-\d\d-\d\d$",
        "no accent": r"fevrier|decembre",
        "accent": r"février|décembre",
        "weekday": r"Wednesday|mercredi",
    }
    for kind, pattern in kinds.items():
        found = sum(bool(re.search(pattern, text)) for text in texts)
        assert found >= 20, (kind, found)


def test_ambiguous_numbers_never_appear():
    for text, _ in generate(30_000, 8):
        if ends := re.fullmatch(r"(\d\d?)[-/. ](\d\d?)[-/. ](\d+)", text):
            a, b = int(ends[1]), int(ends[2])
            assert a == b or max(a, b) > 12, text
            assert len(ends[3]) == 4 or ends[3] == "00" or int(ends[3]) > 31, text


def test_the_split_shares_neither_dates_nor_inputs_and_loses_nothing():
    pairs = generate(5_000, 2)
    kept, held_out = split_by_date(pairs, 400, seed=1)
    assert not {iso for _, iso in kept} & {iso for _, iso in held_out}
    assert sorted(kept + held_out) == sorted(pairs)
    assert 400 <= len(held_out) <= 410
    assert split_by_date(pairs, 400, seed=1) == (kept, held_out)
    assert split_by_date(pairs, 400, seed=2)[1] != held_out


@pytest.mark.parametrize(
    ("number", "english", "ordinal", "french"),
    [
        (1, "one", "first", "un"),
        (5, "five", "fifth", "cinq"),
        (12, "twelve", "twelfth", "douze"),
        (17, "seventeen", "seventeenth", "dix-sept"),
        (20, "twenty", "twentieth", "vingt"),
        (21, "twenty-one", "twenty-first", "vingt et un"),
        (30, "thirty", "thirtieth", "trente"),
        (71, "seventy-one", None, "soixante et onze"),
        (77, "seventy-seven", None, "soixante-dix-sept"),
        (80, "eighty", None, "quatre-vingts"),
        (81, "eighty-one", None, "quatre-vingt-un"),
        (91, "ninety-one", None, "quatre-vingt-onze"),
        (99, "ninety-nine", None, "quatre-vingt-dix-neuf"),
    ],
)
def test_numbers_in_words(number, english, ordinal, french):
    assert english_number(number) == english
    assert french_number(number) == french
    assert ordinal is None or english_ordinal(number) == ordinal
