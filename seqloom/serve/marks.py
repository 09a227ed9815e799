"""Parts of a text: what is translated, what stays, and the inline markup of a sentence with its place in it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

LINES = re.compile(r"([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")


@dataclass(slots=True)
class Inline:
    """An inline element, or a point such as <img> or a comment, with its characters in the text of a sentence."""

    start: int
    end: int  # the start again, for a point
    open: str = ""  # the start tag, or all markup of a point
    close: str = ""
    inside: list["Inline"] = field(default_factory=list)
    fixed: str | None = None  # plain text that the translation must have here, such as code or the term of a glossary
    raw: str | None = None  # how `fixed` is written; None = as the text that it is
    glued: tuple[bool, bool] = (False, False)  # whether a word touches it, before and after

    @property
    def is_term(self) -> bool:
        """Whether it is a term of a glossary and no markup."""
        return self.fixed is not None and self.raw is None

    def moved(self, by: int) -> "Inline":
        return replace(self, start=self.start + by, end=self.end + by, inside=[one.moved(by) for one in self.inside])


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text: a sentence or a line to translate, perhaps with inline markup, or something that stays."""

    text: str
    translate: bool
    marks: tuple[Inline, ...] = ()


Keep = Callable[[str], str]  # how text that stays is written


def split_text(text: str, keep: Keep = str) -> list[Segment]:
    """One segment per line."""
    return [segment for line in LINES.split(text) for segment in around(line, keep)]


def around(text: str, keep: Keep) -> Iterator[Segment]:
    """A text without the blanks around it, and these. Whether there is a word in it, the translator asks."""
    if not text.strip():
        if text:
            yield Segment(keep(text), translate=False)
        return
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    for part, translate in ((before, False), (text.strip(), True), (after, False)):
        if part:
            yield Segment(part if translate else keep(part), translate)
