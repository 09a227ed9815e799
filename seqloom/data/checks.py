"""Checks of usable pairs, chunk by chunk. Each has `add(chunk)` and `findings(lines)`; lines[i] is the line of pair i.

Memory stays at a few bytes per pair, so that ten million pairs can be checked.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqloom.data.findings import MAX_EXAMPLES, Finding, first_lines, shorten, show_pair
from seqloom.data.letters import SCRIPT_OF, SCRIPTS, code_points, scripts_of
from seqloom.data.swapped_sides import SAMPLE_CHARS, SAMPLE_PAIRS, Direction, looks_exchanged


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some usable pairs in file order."""

    lines: Sequence[int]
    sources: Sequence[str]
    targets: Sequence[str]
    start: int = 0  # the place of the first one among all usable pairs


SIDES = ("source", "target")

# Joiners and direction marks are text. Tabs and line ends come from quoted cells, JSON and parallel files.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufff9-\ufffb\ufffe\uffff]")
BREAK = re.compile("[\t\n\r]")
IS_CONTROL = np.zeros(0x10001, bool)  # both as a table; characters beyond its end are no control characters
IS_CONTROL[[*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB, 0xFFFE, 0xFFFF]] = True

# UTF-8 that was read as Latin-1 or Windows-1252: a lead byte's letter, then a letter of a continuation byte. Some of
# these also end a word in capitals (IRMÃ»); after a capital letter they count as real letters. The first class is
# not part of a group, so that the search skips at full speed to the few letters that can begin one.
_AFTER = "\x80-\xbfŒœŠšŸŽžƒˆ˜†‡‰™‹›€•‚„"
_END = "\xa0«»“”‘’…–—"
MOJIBAKE = re.compile(
    f"[ÂÃâÐÑï\ufffd](?:(?<=\ufffd)|(?<=Ã)[{_AFTER}](?<![\xa0«»])|(?<![A-ZÀ-Þ][ÂÃ])(?<=[ÂÃ])[{_AFTER}{_END}]"
    f"|(?<=â)€[{_AFTER}{_END}]|(?<=[ÐÑ])[{_AFTER}{_END}][ÐÑ][{_AFTER}{_END}]|(?<=ï)»¿)"
)


ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|[a-z]+(?:acute|grave|circ|uml|cedil|tilde)|#\d+|#x[\da-f]+);", re.I)


class Characters:
    """Finds characters that no text should hold, texts that were decoded with a wrong encoding, and HTML entities."""

    def __init__(self) -> None:
        self.control, self.mojibake = Finding("control character"), Finding("mojibake")
        self.entity, self.breaks = Finding("HTML entity"), Finding("tab or line end")
        self.unwritable = 0

    def add(self, chunk: Chunk) -> None:
        everything = "".join(chunk.sources) + "".join(chunk.targets)
        if IS_CONTROL.take(code_points(everything), mode="clip").any():  # seldom: only then line by line
            self.look(chunk, CONTROL, self.control)
            self.look(chunk, BREAK, self.breaks)
            self.unwritable += sum(map(breaks_tsv, chunk.sources, chunk.targets))
        if MOJIBAKE.search(everything):
            self.look(chunk, MOJIBAKE, self.mojibake)
        if "&" in everything and ENTITY.search(everything):
            self.look(chunk, ENTITY, self.entity)

    def look(self, chunk: Chunk, pattern: re.Pattern[str], finding: Finding) -> None:
        rows = zip(chunk.lines, chunk.sources, chunk.targets, strict=True)
        for place, (line, *texts) in enumerate(rows, chunk.start):
            found = [(side, match) for side, text in zip(SIDES, texts, strict=True) if (match := pattern.search(text))]
            if found:
                side, match = found[0]
                code = f"U+{ord(match[0]):04X}" if len(match[0]) == 1 else f"{shorten(match[0])!r}"
                near = match.string[max(0, match.start() - 20) : match.end() + 20]
                finding.add(line, f"{code} at character {match.start() + 1} of the {side}: {shorten(near)}", place)

    def findings(self, lines: np.ndarray) -> list[Finding]:
        return [self.control, self.mojibake, self.entity, self.breaks]


def breaks_tsv(source: str, target: str) -> bool:
    """Whether a text holds a tab or a line end, which a TSV line cannot hold."""
    return any(c in text for text in (source, target) for c in "\t\n") or target.endswith("\r")


class Copies:
    """Finds targets that equal their source, ignoring case."""

    def __init__(self) -> None:
        self.finding = Finding("untranslated copy")

    def add(self, chunk: Chunk) -> None:
        rows = zip(chunk.lines, chunk.sources, chunk.targets, strict=True)
        for place, (line, source, target) in enumerate(rows, chunk.start):
            if len(source) == len(target) and source.lower() == target.lower() and any(map(str.isalpha, source)):
                self.finding.add(line, shorten(source), place)

    def findings(self, lines: np.ndarray) -> list[Finding]:
        return [self.finding]


class Lengths:
    """Finds pairs whose lengths do not fit together: Gale and Church 1993, with the median and the median deviation.

    delta = (len_target - c len_source) / sqrt(c len_source), c the usual ratio
    """

    MIN_PAIRS = 50
    MOST_SPREAD = 3.0  # translations have 1 to 2; above, one length predicts little of the other (dialogues, summaries)
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
        ratio = np.abs(np.log((target + 3) / (usual * source + 3)))  # + 3: for short texts
        far = (np.abs(delta) > self.MOST_DELTA * spread) & (ratio > np.log(self.MOST_RATIO))
        if spread > self.MOST_SPREAD or not far.any():
            return []
        detail = f"usual: {usual:.2f} target characters per source character"
        places = np.flatnonzero(far)
        examples = [f"line {lines[i]}: {source[i]:.0f} -> {target[i]:.0f} characters" for i in places[:MAX_EXAMPLES]]
        found = Finding("length ratio", len(places), first_lines(lines[far]), detail, examples)
        found.places.extend(places.tolist())
        return [found]


class Scripts:
    """Finds lines whose script differs from nearly all others of that side, and sides that are exchanged."""

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
        found[0].places.extend(np.flatnonzero(wrong).tolist())
        expected = [SCRIPT_OF.get(language, "") for language in self.languages]
        if all(expected) and expected[0] != expected[1] and usual == expected[::-1]:
            found.append(exchanged(self.languages, len(lines)))
        return found


def exchanged(languages: tuple[str, str], count: int) -> Finding:
    detail = f"the source looks like {languages[1]}, the target like {languages[0]}"
    return Finding("swapped languages", count, detail=detail)


MIXED = 0.2  # share of swapped lines that is more than an accident


class Swaps:
    """Finds lines whose columns were probably exchanged; the first pairs wait until they have shown what is usual."""

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
            self.finding.add(chunk.lines[i], show_pair(chunk.sources[i], chunk.targets[i]), chunk.start + int(i))

    def findings(self, lines: np.ndarray) -> list[Finding]:
        if self.held:
            self.learn()
        if self.finding.count > MIXED * len(lines):
            share = self.finding.count / len(lines)
            self.finding.detail = f"{share:.0%} of the lines: both directions are mixed, and a model would learn both"
        return [self.finding, *([exchanged(self.languages, len(lines))] if self.exchanged else [])]
