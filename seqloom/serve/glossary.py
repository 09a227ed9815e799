"""Glossaries: terms that a translation must have, found in the source and put where their words are translated.

A model translates the sentence as usual. Where the alignment shows the translation of a term, the glossary's own
translation replaces it, unless it is there already. The grammar around it is not changed: articles, endings and
agreement may be wrong. A model without attention has no alignment; then only terms that it chose itself are right.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seqloom.serve.inline import cut_at_ends
from seqloom.serve.marks import Inline, Segment
from seqloom.serve.refusal import Refusal

TOKEN = re.compile(r"\w+|[^\w\s]")
MOST_TERMS = 5_000
LONGEST_TERM = 200  # characters


@dataclass(eq=False)
class Glossary:
    """Terms, and the lengths of those with the same first word: a text is read once, however many terms there are."""

    terms: Mapping[str, str]
    lengths: dict[str, list[int]] = field(default_factory=dict)  # longest first

    def __post_init__(self) -> None:
        check_terms(self.terms)
        self.lowered = {term.lower(): term for term in self.terms}
        for term in sorted(self.lowered, key=len, reverse=True):
            own = self.lengths.setdefault(TOKEN.findall(term)[0], [])
            if len(term) not in own[-1:]:
                own.append(len(term))

    def apply(self, segments: Sequence[Segment]) -> list[Segment]:
        """The segments with a mark for each term in them."""
        return [part for segment in segments for part in self.mark(segment)]

    def mark(self, segment: Segment) -> Iterator[Segment]:
        marks = segment.marks
        if segment.translate:
            for start, end, text in self.find(segment.text):
                marks = with_term(marks, Inline(start, end, fixed=text))
        if marks == segment.marks:
            yield segment
        else:
            yield from cut_at_ends(segment.text, marks)

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The terms in a text, in any case of letters, the longest first: characters, and the translation."""
        lowered, done = text.lower(), 0
        if len(lowered) != len(text):  # a few letters have two in lower case
            lowered = text
        for token in TOKEN.finditer(lowered):
            if token.start() < done:
                continue
            for length in self.lengths.get(token[0], ()):
                end = token.start() + length
                term = lowered[token.start() : end]
                inside_a_word = term[-1].isalnum() and lowered[end : end + 1].isalnum()
                if term in self.lowered and not inside_a_word:
                    own = self.lowered[term]
                    wanted = self.terms[own]
                    if text[token.start()].isupper() and own[0].islower():  # at the beginning of a sentence
                        wanted = wanted[0].upper() + wanted[1:]
                    yield token.start(), end, wanted
                    done = end
                    break


def check_terms(terms: Mapping[str, str]) -> None:
    if not 1 <= len(terms) <= MOST_TERMS:
        raise Refusal(400, f"A glossary has 1 to {MOST_TERMS:,} terms; this one has {len(terms):,}.")
    for term, wanted in terms.items():
        for text in (term, wanted):
            if not text.strip() or len(text) > LONGEST_TERM or re.search(r"[\x00-\x1f\x7f]", text):
                raise Refusal(400, f"Terms have 1 to {LONGEST_TERM} characters, none of them a control character.")


def with_term(marks: Sequence[Inline], term: Inline) -> tuple[Inline, ...]:
    """The marks and a term among them; without it, if it begins inside an element and ends outside, or is fixed."""
    for place, mark in enumerate(marks):
        if mark.end == mark.start or mark.end <= term.start or term.end <= mark.start:
            continue
        if mark.start <= term.start and term.end <= mark.end and mark.fixed is None:
            inner = replace(mark, inside=[*with_term(mark.inside, term)])
            return (*marks[:place], inner, *marks[place + 1 :])
        return tuple(marks)
    return tuple(sorted([*marks, term], key=lambda mark: mark.start))
