"""Read translation memories: TMX, and XLIFF 1.2 and 2.0. Each unit is a pair, in the order of the file.

The file is read as a stream. Nothing outside of it is fetched, and a file that declares entities is refused, because a
few lines of them can stand for gigabytes. Codes for formatting inside a text (bpt, ph, x ...) are not part of it; a
line end with its indentation is one blank.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO
from xml.parsers import expat

from seqloom.data.encodings import UTF8, Readable
from seqloom.data.languages import code_of
from seqloom.data.lines import BLOCK_SIZE, LONGEST_LINE, Fault, FileHash, first_few, open_text
from seqloom.data.read_as import Columns
from seqloom.data.table_readers import Row, pair_of
from seqloom.errors import UsageError

UNITS = {"tmx": ("tu",), "xliff": ("trans-unit", "segment")}
# Elements whose content is not text of the unit: codes of the original format, and proposals beside the translation.
NOT_TEXT: tuple[str, ...] = (
    "bpt",
    "ept",
    "ph",
    "it",
    "ut",
    "x",
    "bx",
    "ex",
    "sub",
    "alt-trans",
    "match",
    "matches",
    "note",
    "prop",
)
NOT_TEXT = (*NOT_TEXT, "seg-source", "originalData", "ignorable")
LANGUAGES = {"source": ("source-language", "srcLang", "srclang"), "target": ("target-language", "trgLang")}
LOOKED_AT = 1000  # units that show which languages there are
DEEPEST = 200
COST = 64  # characters that an empty text counts as: it takes memory too
LINE_END = re.compile(r"[ \t\r]*\n\s*")


@dataclass
class Unit:
    """One unit as it is read: its texts, each with its language."""

    line: int
    number: int
    sides: tuple[str, str]  # the languages of source and target, where the file names them
    texts: list[tuple[str, str]] = field(default_factory=list)  # (language, text)


class Collector:
    """Collects the units from the events of the parser."""

    def __init__(self, dialect: str, parser: expat.XMLParserType) -> None:
        self.dialect, self.parser = dialect, parser
        self.units: list[Unit] = []  # finished ones, taken by the reader
        self.number = 0
        self.room = LONGEST_LINE  # characters that this unit may still have
        self.unit: Unit | None = None
        self.text: list[str] | None = None  # of the side that is being read
        self.language = ""
        named = "" if dialect == "tmx" else "source", "" if dialect == "tmx" else "target"
        self.sides = dict(zip(("source", "target"), named, strict=True))
        self.depth = self.silent = 0  # silent: the depth at which an element that is not text began
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler, parser.EntityDeclHandler = self.characters, self.refuse_entity
        parser.SkippedEntityHandler = self.named_entity
        parser.buffer_text = True

    def start(self, full_name: str, attributes: dict[str, str]) -> None:
        name = full_name.rpartition(":")[2]
        self.depth += 1
        if self.depth > DEEPEST:
            raise BadMemory(f"elements inside elements, more than {DEEPEST} deep")
        if self.silent:
            return
        if name in NOT_TEXT:
            self.silent = self.depth
        elif name in UNITS[self.dialect]:
            self.number += 1
            self.room = LONGEST_LINE
            self.unit = Unit(self.parser.CurrentLineNumber, self.number, (self.sides["source"], self.sides["target"]))
        elif name == "tuv":
            self.language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name in ("xliff", "file", "header"):
            for side, keys in LANGUAGES.items():
                self.sides[side] = next((attributes[key] for key in keys if key in attributes), self.sides[side])
        elif self.unit and name == "cp" and self.text is not None:  # XLIFF 2: a character that XML cannot hold
            code = int(attributes.get("hex", "FFFD")[:9], 16)
            self.text.append("\ufffd" if 0xD800 <= code < 0xE000 or not 0 <= code < 0x110000 else chr(code))
        elif self.unit and (name == "seg" or name in self.sides):
            self.text = []
            self.language = self.sides.get(name, self.language)
            self.use_room(COST)

    def end(self, full_name: str) -> None:
        name = full_name.rpartition(":")[2]
        if self.silent:
            self.silent = 0 if self.silent == self.depth else self.silent
        elif self.unit and self.text is not None and (name == "seg" or name in self.sides):
            self.unit.texts.append((self.language, LINE_END.sub(" ", "".join(self.text)).strip()))
            self.text = None
        elif self.unit and name in UNITS[self.dialect]:
            self.units.append(self.unit)
            self.unit = None
        self.depth -= 1

    def characters(self, text: str) -> None:
        if self.text is not None and not self.silent:
            self.use_room(len(text))
            self.text.append(text)

    def use_room(self, chars: int) -> None:
        self.room -= chars
        if self.room < 0:
            raise BadMemory(f"unit {self.number} has more than {LONGEST_LINE:,} characters")

    def named_entity(self, name: str, is_parameter: bool) -> None:
        """An entity that an external file would declare, which is never fetched: &eacute; is known from HTML."""
        if is_parameter:
            return
        meaning = html.unescape(f"&{name};")
        if meaning.startswith("&"):
            raise BadMemory(f"&{name}; is not declared in this file")
        self.characters(meaning)

    def refuse_entity(self, name: str, *_: object) -> None:
        raise BadMemory(f"the file declares the entity {name!r}; files with entities are not read")


class BadMemory(Exception):
    """The file cannot be read further; the reader turns this into a fault."""


def read_memory(
    path: Path,
    dialect: str,
    columns: Columns,
    references: bool,
    encoding: str,
    hashes: list[FileHash] | None,
    uses: list[str],
) -> Iterator[Row]:
    """Yield the pairs of the two languages; a unit that lacks one of them is a fault."""
    units = read_units(path, dialect, encoding, hashes)
    first = first_few(units, LOOKED_AT, length_of)
    wanted = choose_languages(path, [unit for unit in first if isinstance(unit, Unit)], columns)
    uses += [f"<{one}>" if one in LANGUAGES else f"the language {one!r}" for one in wanted if one]
    last = 0
    for unit in chain(first, units):
        if isinstance(unit, Fault):
            yield unit
            continue
        unit.line = last = max(unit.line, last + 1)  # each row needs a line of its own, also where one holds all
        cells = [[text for language, text in unit.texts if same_language(language, one)] for one in wanted]
        if cells[0] and cells[1]:
            yield pair_of(unit.line, (cells[0][0], *cells[1]), references)
        elif dialect == "xliff" and cells[0] and len(unit.texts) == 1:
            yield Fault("empty side", unit.line, "target")  # a unit that is not translated yet
        else:
            missing = " and ".join(one for one, found in zip(wanted, cells, strict=True) if not found)
            has = ", ".join(language or "?" for language, _ in unit.texts) or "no text"
            yield Fault("missing language", unit.line, f"unit {unit.number} has {has}, not {missing}")


def read_units(
    path: Path, dialect: str, encoding: str = UTF8, hashes: list[FileHash] | None = None
) -> Iterator[Unit | Fault]:
    """Yield the units of the file; where it is broken, a Fault ends them."""
    parser = expat.ParserCreate(None if encoding == UTF8 else UTF8)  # without: as the file's first line declares
    collector = Collector(dialect, parser)
    with open_text(path, hashes, encoding) as stream:
        try:
            yield from parse_blocks(stream, parser, collector)
        except (expat.ExpatError, BadMemory, ValueError, LookupError) as error:  # an encoding that does not exist
            yield from collector.units
            why = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else str(error)
            yield Fault("bad XML", parser.CurrentLineNumber, f"{why}; the rest is not read")


def length_of(unit: Unit | Fault) -> int:
    return 0 if isinstance(unit, Fault) else sum(len(text) for _, text in unit.texts)


def parse_blocks(stream: Readable | IO[bytes], parser: expat.XMLParserType, found: Collector) -> Iterator[Unit]:
    given = 0
    while block := stream.read(BLOCK_SIZE):
        parser.Parse(block, False)
        given += len(block)
        if given - max(0, parser.CurrentByteIndex) > 2 * LONGEST_LINE:
            raise BadMemory(f"a tag or comment of more than {LONGEST_LINE:,} bytes")
        yield from found.units
        found.units = []
    parser.Parse(b"", True)
    yield from found.units


def choose_languages(path: Path, units: Sequence[Unit], columns: Columns) -> tuple[str, str]:
    """Return the languages of source and target: those of --columns, else the only two that there are."""
    written = (language for unit in units for language in (*unit.sides, *dict(unit.texts)))
    known = {language.lower(): language for language in written if language not in ("", "*all*")}  # TMX: any source
    spoken = list(known.values())
    if len(spoken) == 1:
        raise UsageError(f"{path}: texts in one language only ({spoken[0]}), so there are no pairs.")
    if len(columns) > 2:
        raise UsageError(f"{path}: --columns {','.join(columns)}: want two languages, e.g. --columns en,fr")
    if columns and all(column.isdecimal() for column in columns):
        places = [int(column) - 1 for column in columns]
        if max(places) < len(spoken):
            return spoken[places[0]], spoken[places[1]]
    elif columns:
        return check_language(path, columns[0], spoken), check_language(path, columns[1], spoken)
    elif len(spoken) == 2 or not units:
        return (spoken[0], spoken[1]) if spoken[1:] else ("", "")
    raise UsageError(
        f"{path}: line {units[0].line if units else 1}: which languages are source and target? The file has: "
        f"{', '.join(spoken) or 'none'}. Name two: --columns {','.join([*spoken, 'en', 'fr'][:2])}"
    )


def check_language(path: Path, name: str, spoken: Sequence[str]) -> str:
    """Return a language that the user named, by its code; a UsageError if the file does not have it."""
    code = code_of(name) or name
    if not any(same_language(language, code) for language in spoken):
        raise UsageError(f"{path}: --columns: no text in {name!r}; the file has: {', '.join(spoken)}")
    return code


def same_language(written: str, wanted: str) -> bool:
    """Whether a language of the file is the one wanted: en means en, EN and en-US."""
    written, wanted = written.lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return written == wanted or written.startswith(wanted + "-")
