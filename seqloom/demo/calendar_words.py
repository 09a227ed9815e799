"""Names of days, months and years in English and French, for the generated dates of the demo."""

MONTHS = {
    "en": {
        1: ("January", "Jan", "Jan."),
        2: ("February", "Feb", "Feb."),
        3: ("March", "Mar", "Mar."),
        4: ("April", "Apr", "Apr."),
        5: ("May",),
        6: ("June", "Jun", "Jun."),
        7: ("July", "Jul", "Jul."),
        8: ("August", "Aug", "Aug."),
        9: ("September", "Sep", "Sept", "Sept."),
        10: ("October", "Oct", "Oct."),
        11: ("November", "Nov", "Nov."),
        12: ("December", "Dec", "Dec."),
    },
    "fr": {
        1: ("janvier", "janv.", "janv"),
        2: ("février", "fevrier", "févr.", "fév.", "fev"),
        3: ("mars",),
        4: ("avril", "avr.", "avr"),
        5: ("mai",),
        6: ("juin",),
        7: ("juillet", "juil.", "juil"),
        8: ("août", "aout"),
        9: ("septembre", "sept.", "sept"),
        10: ("octobre", "oct.", "oct"),
        11: ("novembre", "nov.", "nov"),
        12: ("décembre", "decembre", "déc.", "dec"),
    },
}

# Monday first, as in date.weekday(). "mar." (mardi) is left out, because it can also mean mars (March).
WEEKDAYS = {
    "en": (
        ("Monday", "Mon"),
        ("Tuesday", "Tue"),
        ("Wednesday", "Wed"),
        ("Thursday", "Thu"),
        ("Friday", "Fri"),
        ("Saturday", "Sat"),
        ("Sunday", "Sun"),
    ),
    "fr": (
        ("lundi", "lun."),
        ("mardi",),
        ("mercredi", "mer."),
        ("jeudi", "jeu."),
        ("vendredi", "ven."),
        ("samedi", "sam."),
        ("dimanche", "dim."),
    ),
}

ENGLISH_NUMBERS = """
zero one two three four five six seven eight nine
ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
twenty thirty forty fifty sixty seventy eighty ninety
"""
ENGLISH_BELOW_20, ENGLISH_TENS = ENGLISH_NUMBERS.split()[:20], ["", "", *ENGLISH_NUMBERS.split()[20:]]
ENGLISH_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
    "twenty": "twentieth",
    "thirty": "thirtieth",
}
FRENCH_NUMBERS = """
zéro un deux trois quatre cinq six sept huit neuf
dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf
vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt
"""
FRENCH_BELOW_20, FRENCH_TENS = FRENCH_NUMBERS.split()[:20], ["", "", *FRENCH_NUMBERS.split()[20:]]


def english_number(number: int) -> str:
    """0 to 99 in words: 21 -> twenty-one."""
    if number < 20:
        return ENGLISH_BELOW_20[number]
    tens, ones = divmod(number, 10)
    return ENGLISH_TENS[tens] + (f"-{ENGLISH_BELOW_20[ones]}" if ones else "")


def english_ordinal(number: int) -> str:
    """1 to 31 in words: 21 -> twenty-first."""
    *front, last = english_number(number).split("-")
    return "-".join([*front, ENGLISH_ORDINALS.get(last, f"{last}th")])


def english_suffix(number: int) -> str:
    """The suffix of an ordinal: 1st, 2nd, 3rd, 4th, but 11th, 12th, 13th."""
    if number in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def english_year(year: int) -> tuple[str, ...]:
    """All ways to say a year from 1950 to 2049: 2015 is twenty fifteen, or two thousand (and) fifteen."""
    century, rest = divmod(year, 100)
    paired = f"{english_number(century)} {english_number(rest)}"
    if century == 19:
        return (paired,)
    if rest == 0:
        return ("two thousand",)
    counted = (f"two thousand and {english_number(rest)}", f"two thousand {english_number(rest)}")
    return counted if rest < 10 else (paired, *counted)


def french_number(number: int) -> str:
    """0 to 99 in words: 21 -> vingt et un, 71 -> soixante et onze, 98 -> quatre-vingt-dix-huit."""
    if number < 20:
        return FRENCH_BELOW_20[number]
    tens, ones = divmod(number, 10)
    if tens in (7, 9):
        ones += 10  # soixante-dix, quatre-vingt-dix: counted from 60 and 80
    if ones == 0:
        return FRENCH_TENS[tens] + ("s" if tens == 8 else "")
    joint = " et " if ones in (1, 11) and tens < 8 else "-"
    return f"{FRENCH_TENS[tens]}{joint}{FRENCH_BELOW_20[ones]}"


def french_year(year: int) -> tuple[str, ...]:
    """All ways to say a year from 1950 to 2049."""
    century, rest = divmod(year, 100)
    if century == 19:
        return tuple(f"{start} neuf cent {french_number(rest)}" for start in ("mille", "mil"))
    return (f"deux mille {french_number(rest)}" if rest else "deux mille",)
