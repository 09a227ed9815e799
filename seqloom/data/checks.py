"""Checks of usable pairs, a chunk at a time: each has `add(chunk)` and `findings(lines)`, lines[i] the line of pair i.

Memory stays a few bytes a pair, so that ten million pairs pass.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqloom.data.direction import SAMPLE_CHARS, SAMPLE_PAIRS, Direction, looks_exchanged
from seqloom.data.findings import MAX_EXAMPLES, Finding, first_lines, shorten, show_pair
from seqloom.data.letters import SCRIPT_OF, SCRIPTS, code_points, scripts_of


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some usable pairs in file order."""

    lines: Sequence[int]
    sources: Sequence[str]
    targets: Sequence[str]


SIDES = ("source", "target")

# Tab and line ends too: they come from quoted cells, JSON and parallel files. Joiners and direction marks are text.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufff9-\ufffb\ufffe\uffff]")
IS_CONTROL = np.zeros(0x10001, bool)  # the same as a table; beyond its end there are none
IS_CONTROL[[*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB, 0xFFFE, 0xFFFF]] = True

# UTF-8 that was read as Latin-1 or Windows-1252: a lead byte's letter, then a letter of a continuation byte. Some of
# these also end a word in capitals (IRMÃ»); after a capital they are taken as what they are. The first class stands
# alone because then the search skips at full speed to the few letters that can begin one.
_AFTER = "\x80-\xbfŒœŠšŸŽžƒˆ˜†‡‰™‹›€•‚„"
_END = "\xa0«»“”‘’…–—"
MOJIBAKE = re.compile(
    f"[ÂÃâÐÑï\ufffd](?:(?<=\ufffd)|(?<=Ã)[{_AFTER}](?<![\xa0«»])|(?<![A-ZÀ-Þ][ÂÃ])(?<=[ÂÃ])[{_AFTER}{_END}]"
    f"|(?<=â)€[{_AFTER}{_END}]|(?<=[ÐÑ])[{_AFTER}{_END}][ÐÑ][{_AFTER}{_END}]|(?<=ï)»¿)"
)


class Characters:
    """Characters that no text should hold, and texts that went through a wrong encoding."""

    def __init__(self) -> None:
        self.control, self.mojibake = Finding("control character"), Finding("mojibake")
        self.unwritable = 0

    def add(self, chunk: Chunk) -> None:
        everything = "".join(chunk.sources) + "".join(chunk.targets)
        if IS_CONTROL.take(code_points(everything), mode="clip").any():  # seldom: only then line by line
            self.look(chunk, CONTROL, self.control)
            self.unwritable += sum(map(breaks_tsv, chunk.sources, chunk.targets))
        if MOJIBAKE.search(everything):
            self.look(chunk, MOJIBAKE, self.mojibake)

    def look(self, chunk: Chunk, pattern: re.Pattern[str], finding: Finding) -> None:
        for line, *texts in zip(chunk.lines, chunk.sources, chunk.targets, strict=True):
            found = [(side, match) for side, text in zip(SIDES, texts, strict=True) if (match := pattern.search(text))]
            if found:
                side, match = found[0]
                code = f"U+{ord(match[0]):04X}" if len(match[0]) == 1 else f"{shorten(match[0])!r}"
                near = match.string[max(0, match.start() - 20) : match.end() + 20]
                finding.add(line, f"{code} at character {match.start() + 1} of the {side}: {shorten(near)}")

    def findings(self, lines: np.ndarray) -> list[Finding]:
        return [self.control, self.mojibake]


def breaks_tsv(source: str, target: str) -> bool:
    """A tab or a line end inside a text: no TSV line can hold it."""
    return any(c in text for text in (source, target) for c in "\t\n") or target.endswith("\r")


class Copies:
    """A target that is its source, capitals aside."""

    def __init__(self) -> None:
        self.finding = Finding("untranslated copy")

    def add(self, chunk: Chunk) -> None:
        for line, source, target in zip(chunk.lines, chunk.sources, chunk.targets, strict=True):
            if len(source) == len(target) and source.lower() == target.lower() and any(map(str.isalpha, source)):
                self.finding.add(line, shorten(source))

    def findings(self, lines: np.ndarray) -> list[Finding]:
        return [self.finding]


class Lengths:
    """Pairs whose lengths do not fit together: Gale and Church 1993, with the median and the median deviation.

    delta = (len_target - c len_source) / sqrt(c len_source), c the usual ratio
    """

    MIN_PAIRS = 50
    MOST_SPREAD = 3.0  # translations have 1 to 2; above, one length says little of the other (dialogues, summaries)
    MOST_DELTA = 5.0  # in usual spreads
    MOST_RATIO = 2.0  # and at least twice, or half, the usual ratio

    def __init__(self) -> None:
        self.lengths = array("I"), array("I")

    def add(self, chunk: Chunk) -> None:
        self.lengths[0].extend(map(len, chunk.sources))
        self.lengths[1].extend(map(len, chunk.targets))

    def findings(self, lines: np.ndarray) -> list[Finding]:
        if len(lines) < self.MIN_PAIRS:
            return []
        source, target = (np.frombuffer(side, np.uint32).astype(np.float32) for side in self.lengths)
        usual = np.median(target / source)
        delta = (target - usual * source) / np.sqrt(usual * source)
        delta -= np.median(delta)
        spread = max(0.5, 1.4826 * float(np.median(np.abs(delta))))
        ratio = np.abs(np.log((target + 3) / (usual * source + 3)))  # + 3: a word more or less is nothing
        far = (np.abs(delta) > self.MOST_DELTA * spread) & (ratio > np.log(self.MOST_RATIO))
        if spread > self.MOST_SPREAD or not far.any():
            return []
        detail = f"usual: {usual:.2f} target characters a source character"
        places = np.flatnonzero(far)[:MAX_EXAMPLES]
        examples = [f"line {lines[i]}: {source[i]:.0f} -> {target[i]:.0f} characters" for i in places]
        return [Finding("length ratio", int(far.sum()), first_lines(lines[far]), detail, examples)]


class Scripts:
    """Lines whose letters are of another script than nearly all others of that side; and sides that are exchanged."""

    MIN_LINES = 20
    MIN_SHARE = 0.9  # of the lines with letters, for a script to be THE script of a side

    def __init__(self, languages: tuple[str, str]) -> None:
        self.languages = languages
        self.scripts = bytearray(), bytearray()

    def add(self, chunk: Chunk) -> None:
        for side, texts in zip(self.scripts, (chunk.sources, chunk.targets), strict=True):
            side += scripts_of(texts).tobytes()

    def findings(self, lines: np.ndarray) -> list[Finding]:
        wrong = np.zeros(len(lines), bool)
        details, usual = [], []
        for name, side in zip(SIDES, self.scripts, strict=True):
            scripts = np.frombuffer(side, np.uint8)
            counts = np.bincount(scripts, minlength=len(SCRIPTS))
            counts[0] = 0
            main = int(counts.argmax())
            sure = counts.sum() >= self.MIN_LINES and counts[main] >= self.MIN_SHARE * counts.sum()
            usual.append(SCRIPTS[main] if sure else "")
            if sure and counts[main] < counts.sum():
                wrong |= (scripts != main) & (scripts != 0)
                others = ", ".join(f"{counts[i]} {SCRIPTS[i]}" for i in np.flatnonzero(counts) if i != main)
                details.append(f"{name} is {SCRIPTS[main]}, but {others}")
        found = [Finding("wrong script", int(wrong.sum()), first_lines(lines[wrong]), "; ".join(details))]
        expected = [SCRIPT_OF.get(language, "") for language in self.languages]
        if all(expected) and expected[0] != expected[1] and usual == expected[::-1]:
            found.append(exchanged(self.languages, len(lines)))
        return found


def exchanged(languages: tuple[str, str], count: int) -> Finding:
    detail = f"the source looks like {languages[1]}, the target like {languages[0]}"
    return Finding("swapped languages", count, detail=detail)


class Swaps:
    """Lines whose columns were probably exchanged; the first pairs wait until they have taught what is usual."""

    def __init__(self, languages: tuple[str, str]) -> None:
        self.languages = languages
        self.finding = Finding("swapped columns")
        self.exchanged = False
        self.held: list[Chunk] = []
        self.room = [SAMPLE_PAIRS, SAMPLE_CHARS]
        self.direction: Direction | None = None

    def add(self, chunk: Chunk) -> None:
        if self.direction:
            self.judge(chunk, self.direction)
            return
        self.held.append(chunk)
        self.room[0] -= len(chunk.lines)
        self.room[1] -= sum(map(len, chunk.sources)) + sum(map(len, chunk.targets))
        if min(self.room) <= 0:
            self.learn()

    def learn(self) -> None:
        sources = [text for chunk in self.held for text in chunk.sources]
        targets = [text for chunk in self.held for text in chunk.targets]
        self.direction = Direction(sources, targets)
        self.exchanged = looks_exchanged(sources, targets, self.languages)
        for chunk in self.held:
            self.judge(chunk, self.direction)
        self.held = []

    def judge(self, chunk: Chunk, direction: Direction) -> None:
        for i in direction.swapped(chunk.sources, chunk.targets):
            self.finding.add(chunk.lines[i], show_pair(chunk.sources[i], chunk.targets[i]))

    def findings(self, lines: np.ndarray) -> list[Finding]:
        if self.held:
            self.learn()
        return [self.finding, *([exchanged(self.languages, len(lines))] if self.exchanged else [])]
