"""seqloom translate: one line in, one line out, in order, as soon as lines arrive."""

import re
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from seqloom.data.lines import STDIN, Fault, check_file, read_lines, standard_input, whole_lines
from seqloom.decode.options import SearchRequest
from seqloom.errors import DataError, UsageError, did_you_mean
from seqloom.runtime.answering import load_answering
from seqloom.runtime.inputs import count_cases, is_in_capitals
from seqloom.runtime.parts import Translation
from seqloom.runtime.prefixes import PrefixError

CHUNK_LINES = 1024  # lines per chunk: enough to sort by length, few enough to show results soon
READ_BYTES = 1 << 16
FEW_CAPITALS = 0.01  # share of the training texts: a model that saw fewer texts in capitals does badly on them
TEXT_FILE = re.compile(r"\.(txt|tsv|csv|tab|jsonl?|gz)$", re.IGNORECASE)  # a text with blanks seldom ends so
ANY_FILE = re.compile(r"\w\.[A-Za-z][A-Za-z0-9]{0,4}$")  # input.en
PATIENCE = 0.02  # seconds to wait for more input while lines wait for their translation


def translate(
    folders: Sequence[Path],
    file: Path | None,
    request: SearchRequest,
    *,
    texts: Sequence[str] | None = None,
    prefixes: "PrefixLines | None" = None,
    threads: int | None = None,
    engine: str = "auto",
    say: Callable[[str], None],
) -> Iterator[list[list["Translation"]]]:
    """Yield the outputs for each line of a file, of `texts` or of standard input, in order, chunk by chunk.

    `say` gets notices about the engine and warnings about lines.
    """
    request.check()
    prefixes = prefixes or PrefixLines()
    if file is not None:
        check_input(file, folders)
    elif texts is None:
        standard_input()
    if prefixes.file == STDIN and file in (None, STDIN) and texts is None:
        raise UsageError("--prefix-file -: standard input is the text to translate; put one of the two into a file")
    if file is not None and prefixes.file is not None and STDIN not in (file, prefixes.file):
        prefixes.check_number(file)  # checked before translating, because prefixes may have shifted anywhere
    model = load_answering(folders, threads, engine, say)
    done = 0

    def warn(message: str) -> None:
        say(f"{file or ('standard input' if texts is None else 'the text')}, {message}")

    capitals = Capitals(None if model.config.data.lower_capitals else model.facts.get("capitals"), warn)
    given = [[*texts]] if texts is not None else None
    for chunk in given or (chunks_of(file) if file is not None else ready_chunks(standard_input())):
        lines = range(done + 1, done + len(chunk) + 1)
        capitals.look(chunk, done + 1)
        with naming_the_file(prefixes.file):
            found = model.answer(chunk, request, prefixes=prefixes.take(len(chunk)), lines=lines, warn=warn)
        yield found
        done += len(chunk)
    prefixes.end()


def as_texts(argument: str) -> list[str] | None:
    """Return the lines of an argument that is a text itself; None for a file, also for one whose name is misspelled."""
    if argument == "-" or not argument.strip() or looks_like_path(argument):
        return None
    return argument.splitlines()


def looks_like_path(argument: str) -> bool:
    """Whether there is such a file, or the argument is written like the name of one."""
    blank = any(map(str.isspace, argument))
    try:
        if Path(argument).exists() or (TEXT_FILE if blank else ANY_FILE).search(argument):
            return True
        if blank:
            return False
        folder = Path(argument).parent
        inside = "/" in argument and folder.is_dir()
        return inside or bool(did_you_mean(argument, (entry.name for entry in Path.cwd().iterdir())))
    except (OSError, ValueError):  # longer than a name may be, or with a NUL
        return False


def check_input(file: Path, folders: Sequence[Path]) -> None:
    """Raise a UsageError when there is no such file, which says how to give a text instead."""
    try:
        check_file(file)
    except UsageError as error:
        if file.exists():
            raise
        raise UsageError(f"{error} To translate a text itself: echo TEXT | seqloom translate {folders[0]}") from None


class Capitals:
    """Warns once of a line in capitals, where the model has seen few such lines in training (`share`)."""

    def __init__(self, share: float | None, warn: Callable[[str], None]) -> None:
        self.share, self.warn = share, warn

    def look(self, texts: Sequence[str], first_line: int) -> None:
        if self.share is None or self.share >= FEW_CAPITALS:
            return
        for line, text in enumerate(texts, first_line):
            if is_in_capitals(*count_cases(text)):
                self.warn(
                    f"line {line}: written in capitals, as {self.share:.2%} of the training texts are: expect a poor "
                    "output; in lower case it may come out better. Further such lines are not named."
                )
                self.share = None
                return


def format_line(line: int, translation: Translation, num: int, scores: bool) -> str:
    """The output line: `text`, or `score<TAB>text`; with several outputs per input line, preceded by `line<TAB>`."""
    cells = [" ".join(translation.text.splitlines())]  # a model may write a newline, but an output is one line
    if scores or num > 1:
        cells = [cells[0].replace("\t", " ")]  # nor may a tab add a column
    if scores:
        cells.insert(0, f"{translation.score:.4f}")
    if num > 1:
        cells.insert(0, str(line))
    return "\t".join(cells) + "\n"


def format_lines(found: Sequence[Sequence[Translation]], first_line: int, num: int, scores: bool) -> Iterator[str]:
    """The output lines of consecutive input lines."""
    for line, ranked in enumerate(found, first_line):
        for translation in ranked:
            yield format_line(line, translation, num, scores)


@contextmanager
def naming_the_file(file: Path | None) -> Iterator[None]:
    """Add the name of the prefix file to errors about a prefix."""
    try:
        yield
    except PrefixError as error:
        if file is None:
            raise
        raise DataError(f"{file}, {error}") from None


class PrefixLines:
    """What each output must begin with: one text for all outputs, or one line of a file per input line.

    `take(n)` gives the prefixes of the next n input lines; `end()` checks that there are no more.
    """

    def __init__(self, text: str | None = None, file: Path | None = None) -> None:
        if text is not None and file is not None:
            raise UsageError("--prefix and --prefix-file: give one of them")
        if text is not None and not text.strip():
            raise UsageError("--prefix: empty; give a text that every output must begin with")
        if file is not None:
            check_file(file)
        self.text, self.file = text, file
        self.lines = whole_lines(file) if file is not None else None
        self.taken = 0

    def check_number(self, file: Path) -> None:
        """Raise a DataError unless there are as many prefixes as the file has lines."""
        assert self.file is not None
        wanted, got = (sum(1 for _ in read_lines(one)) for one in (file, self.file))
        if wanted != got:
            raise DataError(
                f"{self.file}: {got:,} lines, but {file} has {wanted:,}: want one prefix per line; an "
                "empty line means no prefix."
            )

    def take(self, number: int) -> str | list[str] | None:
        if self.lines is None:
            return self.text
        found = list(islice(self.lines, number))
        self.taken += len(found)
        if len(found) < number:
            raise DataError(
                f"{self.file}: {self.taken:,} lines, but the input has more: want one prefix per line; an "
                "empty line means no prefix."
            )
        return found

    def end(self) -> None:
        if self.lines is not None and next(self.lines, None) is not None:
            raise DataError(f"{self.file}: more lines than the {self.taken:,} of the input. Is it the right file?")


def chunks_of(file: Path) -> Iterator[list[str]]:
    """The lines of a file, plain or gzip."""
    chunk: list[str] = []
    for line in read_lines(file):
        if isinstance(line, Fault):
            yield chunk  # the lines before the fault are still translated
            raise DataError(f"{file}, line {line.line}: {line.kind}: {line.detail}. Save the file as UTF-8.")
        chunk.append(line)
        if len(chunk) == CHUNK_LINES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def ready_chunks(stream: IO[bytes]) -> Iterator[list[str]]:
    """Yield the lines of a pipe or a terminal as they arrive, up to a chunk at a time: answers come at once."""
    done, waiting, rest = 0, 0, bytearray()
    while True:
        data = stream.read1(READ_BYTES)  # type: ignore[attr-defined]
        rest += data
        waiting += data.count(b"\n")
        if data and waiting < CHUNK_LINES and (not waiting or has_more(stream)):
            continue
        lines = rest.split(b"\n")
        rest, waiting = lines.pop() if data else bytearray(), 0  # an incomplete last line waits
        if lines and not data and not lines[-1]:
            lines.pop()  # nothing follows the last newline
        for start in range(0, len(lines), CHUNK_LINES):
            chunk = lines[start : start + CHUNK_LINES]
            yield from decode_lines(chunk, done + 1)
            done += len(chunk)
        if not data:
            return


def has_more(stream: IO[bytes]) -> bool:
    try:
        return bool(select.select([stream], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # not a real file, or one that cannot be polled: then reading never waits
        return True


def decode_lines(lines: list[bytearray], first_line: int) -> Iterator[list[str]]:
    """Decode lines; at a line that is not UTF-8, yield the lines before it, then raise a DataError."""
    texts: list[str] = []
    for number, line in enumerate(lines, first_line):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            yield texts
            raise DataError(
                f"standard input, line {number}: invalid UTF-8: byte 0x{line[error.start]:02x} at offset {error.start} "
                "of the line. Convert the text to UTF-8, e.g. with iconv."
            ) from None
        texts.append((text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r"))
    yield texts
