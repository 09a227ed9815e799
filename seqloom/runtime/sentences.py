"""Splits texts into sentences: a text longer than the training texts is translated sentence by sentence.

Nothing is lost: "".join(split_sentences(text)) == text; each part keeps the spaces that follow it.
"""

import re

# A full stop after one of these does not end a sentence (English, German, French and Spanish, lower case).
STOPPED = """
mr mrs ms dr prof st jr sr rev gen col lt sgt capt hon vs etc cf eg ie approx dept inc ltd corp e.g i.e a.m p.m u.s
jan feb apr jun jul aug sept oct nov
bzw bspw usw ggf evtl inkl str hr vgl hrsg mio mrd tel z.b d.h u.a o.ä mm mme mlle mgr env p.ex sra srta ud uds
"""
ABBREVIATIONS = frozenset(STOPPED.split())
BEFORE_NUMBERS = {
    "no",
    "nr",
    "fig",
    "vol",
    "pp",
    "art",
    "abs",
    "abb",
    "chap",
    "ca",
}  # only before numbers: elsewhere they are ordinary words

CLOSING = r"(?:[\"'”’»›)\]}」』）]|[ \u00a0\u202f]»)*+"  # French puts a space before its »
END = re.compile(
    # These need a space after them: 3.14, example.org. Only the first of several is tried: a million would take hours.
    rf"(?<![.!?…؟۔।])(?P<mark>[.!?…؟۔।]++){CLOSING}\s+"
    rf"|[。！？｡]+{CLOSING}\s*"  # these need no space after them
    r"|[\n\r\x85\u2028\u2029]\s*"  # a new line inside a text
)
COMMA = re.compile(r"[,;:،؛]\s+|[，；：、]\s*")
BLANK = re.compile(r"(?<=\S)\s+(?=\S)")
LAST_WORD = re.compile(r"[^\s\"'“‘«(\[{]+$")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, spaces included. A text without an end is one sentence."""
    parts, start = [], 0
    for match in END.finditer(text):
        if match["mark"] is None or ends_sentence(text, match):
            parts.append(text[start : match.end()])
            start = match.end()
    if start < len(text):
        parts.append(text[start:])
    return parts


def ends_sentence(text: str, match: re.Match[str]) -> bool:
    """False for a mark that a small letter follows, and for the stop of an abbreviation, an initial or a number."""
    following = text[match.end() : match.end() + 1]
    if following.islower():
        return False
    if match["mark"] != ".":
        return True
    # Looks back only a little: a text of a million letters without a space must not be read again at each stop.
    word = LAST_WORD.search(text, max(0, match.start() - 20), match.start())
    before = word.group().lower() if word else ""
    is_initial = len(before) == 1 and before.isalpha()
    is_ordinal = before.isdigit() and len(before) <= 2  # am 3. Oktober
    is_numbered = before in BEFORE_NUMBERS and following.isdigit()  # No. 5
    return not (before in ABBREVIATIONS or is_initial or is_ordinal or is_numbered)


def split_in_two(sentence: str) -> list[str]:
    """Split into two pieces of similar length: at a comma in the middle half, else at a space, else at any comma.

    The last rule is for scripts without spaces. Returns nothing if there is no such place.
    """
    length = len(sentence)
    commas = [place for match in COMMA.finditer(sentence) if (place := match.end()) < length]
    middle = [place for place in commas if length <= 4 * place <= 3 * length]
    places = middle or [match.end() for match in BLANK.finditer(sentence)] or commas
    if not places:
        return []
    place = min(places, key=lambda place: abs(2 * place - length))
    return [sentence[:place].strip(), sentence[place:].strip()]
