"""A text as what is translated and what stays: lines of a text, sentences of HTML; blanks and tags stay as they are.

join(split(text), translations) puts it together again; with the texts themselves it gives what was asked.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from seqloom.runtime.parts import Alignment
from seqloom.serve.inline import split_html
from seqloom.serve.marks import Keep, Segment, split_text
from seqloom.serve.markup import escape
from seqloom.serve.placing import place


def split(text: str, format: str) -> list[Segment]:
    return split_html(text) if format == "html" else split_text(text)


def to_translate(segments: Sequence[Segment]) -> list[Segment]:
    """The segments that a model translates, in order."""
    return [segment for segment in segments if segment.translate]


def join(
    segments: Sequence[Segment],
    translated: Iterator[str],
    format: str,
    alignments: Iterable[Alignment | None] = repeat(None),
) -> str:
    """Join the segments; the next translation, with its inline markup, replaces each one that is to be translated."""
    write: Keep = escape if format == "html" else str
    aligned = iter(alignments)
    parts = []
    for segment in segments:
        if segment.translate:
            text, alignment = next(translated), next(aligned)
            parts.append(place(segment.marks, segment.text, text, alignment, write) if segment.marks else write(text))
        else:
            parts.append(segment.text)
    return "".join(parts)
