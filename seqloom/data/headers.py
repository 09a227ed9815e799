"""Names of columns and fields: which two of them mean source and target, label and text, tokens and tags."""

from collections.abc import Sequence

from seqloom.data import languages

COUPLES = (
    ("source", "target"), ("src", "tgt"), ("src", "trg"), ("input", "output"), ("source_text", "target_text"),
    ("original", "translation"), ("question", "answer"), ("prompt", "response"), ("prompt", "completion"),
    ("text", "summary"), ("document", "summary"), ("article", "summary"), ("article", "highlights"),
    ("word", "pronunciation"), ("label", "text"), ("tokens", "tags"),
)  # fmt: skip
LABEL = ("label", "labels", "class", "category", "sentiment", "intent", "topic", "stars", "rating")
TEXT = ("text", "sentence", "review", "comment", "message", "content", "utterance", "document")
TOKENS, TAGS = ("tokens", "words"), ("tags", "labels", "ner_tags", "pos_tags", "pos")
SIDES = {"pairs": ("source", "target"), "labelled": ("label", "text"), "tagged": ("tokens", "tags")}


def known_couple(names: Sequence[str], form: str = "pairs") -> tuple[str, str] | None:
    """Find the two names that mean the two sides: a well-known couple, or the only two languages."""
    if form == "labelled":
        return one_of_each(names, LABEL, TEXT)
    if form == "tagged":
        return one_of_each(names, TOKENS, TAGS)
    lower = [name.lower() for name in names]
    for couple in COUPLES:
        if set(couple) <= set(lower):
            return names[lower.index(couple[0])], names[lower.index(couple[1])]
    spoken = [name for name in names if languages.code_of(name)]
    if len(spoken) > 2:  # far more often a number than Indonesian
        spoken = [name for name in spoken if name.lower() != "id"]
    if len(spoken) == 2 and languages.code_of(spoken[0]) != languages.code_of(spoken[1]):
        return spoken[0], spoken[1]
    return None


def one_of_each(names: Sequence[str], first: Sequence[str], second: Sequence[str]) -> tuple[str, str] | None:
    """Return the only name of the first kind and the only one of the second."""
    found = [[name for name in names if name.lower() in kind] for kind in (first, second)]
    return (found[0][0], found[1][0]) if [len(one) for one in found] == [1, 1] else None


def names_only(cells: Sequence[str]) -> bool:
    """Whether all of a row, three or more cells, are languages or other well-known names of columns."""
    known = {"id", *LABEL, *TEXT, *TOKENS, *TAGS, *(name for couple in COUPLES for name in couple)}
    return len(cells) > 2 and all(cell.strip().lower() in known or languages.code_of(cell.strip()) for cell in cells)


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, also with a decimal comma."""
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def names_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a header by its content: a name above a column of numbers."""
    first, *others = rows or [[]]
    for place, cell in enumerate(first):
        below = [row[place] for row in others if place < len(row)]
        if len(below) > 2 and cell.strip() and not is_number(cell) and all(map(is_number, below)):
            return True
    return False
