"""Puts inline markup and fixed words into a translation, where the word alignment shows their words."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from seqloom.runtime.parts import Alignment
from seqloom.serve.marks import Inline, Keep

WORD = re.compile(r"[^ \t\n\r\f\v]+")  # as in runtime.word_alignment, which needs torch
Span = tuple[int, int]


def place(
    marks: Sequence[Inline],
    source: str,
    target: str,
    alignment: Alignment | None,
    write: Keep,
) -> str:
    """The translation with every mark of its source in it, each exactly once.

    The source was translated as one sentence, without its tags. An element then encloses the stretch of the
    translation in which most words are aligned with the words that it encloses in the source. Of words that are
    far apart (ne ... pas), it encloses the stretch that has most of them. Elements inside another one stay inside it,
    and two elements side by side never overlap. Punctuation at its ends belongs to an element only if it does so in the
    source. A point (an image, a comment) follows the word that it touches, or else precedes the word after it.
    Fixed words replace the stretch that translates their source words, unless the translation has them already;
    where no word is aligned with them, they are inserted. Terms of a glossary are left out if nothing is aligned.

    If there is no alignment (a model without attention, or a sentence that is too long for the model), words at the
    same relative position count as aligned. Tags inside a word enclose the whole word, unless the translation repeats
    the word.
    """
    laying = Laying(source, target, alignment)
    laid = laying.lay(marks, (0, len(laying.there)), (0, len(target)))
    return laying.write(laid, (0, len(target)), write)


@dataclass(slots=True)
class Laid:
    """A mark and its characters in the translation."""

    mark: Inline
    start: int
    end: int
    inside: list["Laid"] = field(default_factory=list)
    space: tuple[str, str] = ("", "")  # around something inserted that touches no word


class Laying:
    """Finds the place of each mark of one sentence."""

    def __init__(self, source: str, target: str, alignment: Alignment | None) -> None:
        self.source, self.target = source, target
        self.here = [match.span() for match in WORD.finditer(source)]
        self.there = [match.span() for match in WORD.finditer(target)]
        num, of = len(self.there), len(self.here)
        self.aligned = alignment is not None and (len(alignment.source), len(alignment.target)) == (of, num)
        self.origins: list[int | None] = [None] * num  # the source word of each word of the translation
        if alignment is not None and self.aligned:
            for there, here in sorted((link[1], link[0]) for link in alignment.links):
                self.origins[there] = here
        else:
            self.origins = [place * of // num for place in range(num)] if of else self.origins

    def lay(self, marks: Sequence[Inline], words: Span, room: Span) -> list[Laid]:
        """Marks side by side, within these words and characters; the one with the clearest place chooses first."""
        marks = [mark for mark in marks if self.aligned or not mark.is_term or self.has(mark, words)]
        taken: set[int] = set()
        laid: dict[int, Laid] = {}
        gains = {number: self.stretch(self.covered(mark), words, ())[0] for number, mark in enumerate(marks)}
        for number in sorted(gains, key=lambda number: -gains[number]):
            mark = marks[number]
            found = self.find(mark, words, taken) if mark.end > mark.start else None
            if found is None:
                continue
            first, last, start, end = found
            taken.update(range(first, last))
            start = min(max(start, room[0]), room[1])
            end = max(start, min(end, room[1]))
            laid[number] = Laid(mark, start, end, self.lay(mark.inside, (first, last), (start, end)))
        for number, mark in enumerate(marks):
            if number not in laid:
                others = [(one.start, one.end) for one in laid.values() if one.end > one.start]
                laid[number] = self.insert(mark, room, others)
        # At the same character, what takes no room comes first.
        return [laid[number] for number in sorted(laid, key=lambda key: (laid[key].start, laid[key].end, key))]

    def has(self, term: Inline, words: Span) -> bool:
        return self.find_fixed(term.fixed or "", words, ()) is not None

    def covered(self, mark: Inline) -> list[int]:
        """The source words of an element: those with a letter or digit in it, or else all that it touches."""
        touched = [n for n, (start, end) in enumerate(self.here) if start < mark.end and end > mark.start]
        whole = [n for n in touched if has_letters(self.source[slice(*overlap(self.here[n], mark))])]
        return whole or touched

    def find(self, mark: Inline, words: Span, taken: Collection[int]) -> tuple[int, int, int, int] | None:
        """The words first to last (excluded) for an element, and its characters; None if there is no place."""
        own = self.covered(mark)
        if mark.fixed is not None and (found := self.find_fixed(mark.fixed, words, taken)):
            return found
        gain, first, last = self.stretch(own, words, taken)
        if not gain or (mark.fixed is not None and not self.aligned):
            free = [n for n in range(*words) if n not in taken]
            if mark.fixed is not None or not free or not own:
                return None
            middle = (own[0] + own[-1] + 1) / 2 * len(self.there) / max(1, len(self.here))
            first = min(free, key=lambda n: (self.origins[n] is not None, abs(n + 0.5 - middle)))
            last = first + 1
        return first, last, *self.edges(mark, own, first, last)

    def find_fixed(self, fixed: str, words: Span, taken: Collection[int]) -> tuple[int, int, int, int] | None:
        """Fixed words that the translation has already, in any case of letters."""
        if not fixed:
            return None
        for match in re.finditer(rf"(?<!\w){re.escape(fixed)}(?!\w)", self.target, re.IGNORECASE):
            at = [n for n, (start, end) in enumerate(self.there) if start < match.end() and end > match.start()]
            if at and words[0] <= at[0] and at[-1] < words[1] and not any(n in taken for n in at):
                return at[0], at[-1] + 1, match.start(), match.end()
        return None

    def stretch(self, own: Collection[int], words: Span, taken: Collection[int]) -> tuple[int, int, int]:
        """The neighbouring words that fit best, and how well: words from `own` count 1, words from others -1."""
        best, total, start = (0, 0, 0), 0, words[0]
        mine = set(own)
        for n in range(*words):
            origin = self.origins[n]
            value = 0 if origin is None else 1 if origin in mine else -1
            if n in taken:
                total, start = 0, n + 1
                continue
            if total <= 0:
                total, start = 0, n
            total += value
            if total > best[0]:
                best = total, start, n + 1
        return best

    def edges(self, mark: Inline, own: Sequence[int], first: int, last: int) -> Span:
        """The characters of an element: without punctuation at an end where it has none in the source."""
        text = self.source[mark.start : mark.end]
        ends = not text[-1:].isalnum(), not text[:1].isalnum()
        while last - first > 1 and not ends[0] and not has_letters(self.word(last - 1)):
            last -= 1
        while last - first > 1 and not ends[1] and not has_letters(self.word(first)):
            first += 1
        start, end = self.there[first][0], self.there[last - 1][1]
        from_, to = self.here[own[0]], self.here[own[-1]]
        if self.word(first) == self.source[slice(*from_)]:
            start += max(0, mark.start - from_[0])
        elif not ends[1]:
            start += letters_of(self.word(first))[0]
        if self.word(last - 1) == self.source[slice(*to)]:
            end -= max(0, to[1] - mark.end)
        elif not ends[0]:
            end = self.there[last - 1][0] + letters_of(self.word(last - 1))[1]
        return (start, end) if start < end else (self.there[first][0], self.there[last - 1][1])

    def word(self, number: int) -> str:
        return self.target[slice(*self.there[number])]

    def insert(self, mark: Inline, room: Span, others: Sequence[Span]) -> Laid:
        """A mark that takes no characters: after the word before it if it touches that, else before the next one."""
        before = max((n for n, (start, _) in enumerate(self.here) if start < mark.start), default=-1)
        loose = mark.glued == (False, False) and (mark.end == mark.start or mark.fixed is not None)
        after = mark.end == mark.start and (mark.glued[0] or (not mark.glued[1] and before == len(self.here) - 1))
        if after:
            ends = [end for n, (_, end) in enumerate(self.there) if self.origins[n] == before]
            known = [end for n, (_, end) in enumerate(self.there) if (self.origins[n] or 0) < before]
            at = max(ends or known, default=len(self.target) if before >= 0 else 0)
        else:
            later = range(before + 1, len(self.here))
            starts = [start for n, (start, _) in enumerate(self.there) if self.origins[n] in later[:1]]
            known = [start for n, (start, _) in enumerate(self.there) if (self.origins[n] or 0) in later]
            at = min(starts or known, default=len(self.target))
            after = at == len(self.target)
        at = min(max(at, room[0]), room[1])
        at = next((end for start, end in others if start < at < end), at)
        return Laid(
            mark,
            at,
            at,
            self.lay(mark.inside, (0, 0), (at, at)),
            (" " * (loose and after), " " * (loose and not after)),
        )

    def write(self, laid: Sequence[Laid], room: Span, escape: Keep) -> str:
        """The characters of the translation in this room, with the marks."""
        parts, at = list[str](), room[0]
        for one in laid:
            parts.append(escape(self.target[at : one.start]))
            mark = one.mark
            if mark.fixed is not None:
                inner = escape(mark.fixed) if mark.raw is None else mark.raw
            else:
                inner = self.write(one.inside, (one.start, one.end), escape)
            parts += [one.space[0], mark.open, inner, mark.close, one.space[1]]
            at = one.end
        return "".join([*parts, escape(self.target[at : room[1]])])


def overlap(span: Span, mark: Inline) -> Span:
    return max(span[0], mark.start), min(span[1], mark.end)


def has_letters(text: str) -> bool:
    return any(map(str.isalnum, text))


def letters_of(word: str) -> Span:
    """A word without the punctuation at its ends; all of it if it has neither letters nor digits."""
    places = [place for place, letter in enumerate(word) if letter.isalnum()]
    return (places[0], places[-1] + 1) if places else (0, len(word))
