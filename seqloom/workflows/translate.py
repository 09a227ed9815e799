"""Translate a stream of lines: one line in, one line out, in order, as soon as there is something to translate."""

import select
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from seqloom.errors import DataError, UsageError

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering
    from seqloom.runtime.translator import Translation
    from seqloom.workflows.decoding import Decoding
    from seqloom.workflows.prefix_lines import PrefixLines

CHUNK_LINES = 1024  # translated together: enough to sort by length, few enough to show results soon
READ_BYTES = 1 << 16
PATIENCE = 0.02  # seconds to wait for more input while lines wait for their translation


def translate(
    folders: Sequence[Path],
    file: Path | None,
    out: IO[str],
    decoding: "Decoding",
    *,
    prefix: str | None = None,
    prefix_file: Path | None = None,
    scores: bool = False,
    threads: int | None = None,
    engine: str = "auto",
    notice: Callable[[str], None],
    warn: Callable[[str], None],
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Translate the lines of a file, or of standard input, to `out`; how many lines there were."""
    from seqloom.data.lines import STDIN, check_file, standard_input
    from seqloom.workflows.prefix_lines import PrefixLines

    if file is not None:
        check_file(file)
    else:
        standard_input()
    if prefix_file == STDIN and file in (None, STDIN):
        raise UsageError("--prefix-file -: standard input is what is translated; put one of the two into a file")
    prefixes = PrefixLines(prefix, prefix_file)
    if file is not None and prefix_file is not None and STDIN not in (file, prefix_file):
        prefixes.check_number(file)  # before a line is translated: they may have shifted anywhere
    from seqloom.runtime.answering import load_answering  # torch takes seconds: first what is wrong without it

    translator = load_answering(folders, threads, engine, notice)
    done = 0
    for chunk in chunks_of(file) if file is not None else ready_chunks(standard_input()):
        lines = range(done + 1, done + len(chunk) + 1)
        for line, ranked in zip(lines, run(decoding, translator, chunk, prefixes, lines, warn), strict=True):
            out.writelines(format_line(line, translation, decoding.shown, scores) for translation in ranked)
        out.flush()
        done += len(chunk)
        progress(done)
    prefixes.end()
    return done


def run(
    decoding: "Decoding",
    translator: "Answering",
    chunk: list[str],
    prefixes: "PrefixLines",
    lines: range,
    warn: Callable[[str], None],
) -> list[list["Translation"]]:
    """The outputs of a chunk; what is wrong with a prefix is told with its file."""
    from seqloom.runtime.prefixes import PrefixError

    try:
        return decoding.run(translator, chunk, prefixes=prefixes.take(len(chunk)), lines=lines, warn=warn)
    except PrefixError as error:
        if prefixes.file is None:
            raise
        raise DataError(f"{prefixes.file}, {error}") from None


def format_line(line: int, translation: "Translation", num: int, scores: bool) -> str:
    """text; with scores `score<TAB>text`; of several `line<TAB>text` and `line<TAB>score<TAB>text`."""
    cells = [" ".join(translation.text.splitlines())]  # a model may write a line end, but a line stays a line
    if scores or num > 1:
        cells = [cells[0].replace("\t", " ")]  # and a column a column
    if scores:
        cells.insert(0, f"{translation.score:.4f}")
    if num > 1:
        cells.insert(0, str(line))
    return "\t".join(cells) + "\n"


def chunks_of(file: Path) -> Iterator[list[str]]:
    """The lines of a file, plain or gzip."""
    from seqloom.data.lines import Fault, read_lines

    chunk: list[str] = []
    for line in read_lines(file):
        if isinstance(line, Fault):
            yield chunk  # what comes before the fault is translated
            raise DataError(f"{file}, line {line.line}: {line.kind}: {line.detail}. Save the file as UTF-8.")
        chunk.append(line)
        if len(chunk) == CHUNK_LINES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def ready_chunks(stream: IO[bytes]) -> Iterator[list[str]]:
    """The lines of a pipe or a terminal: all that have come, up to a chunk. Whoever waits for an answer gets it."""
    done, waiting, rest = 0, 0, bytearray()
    while True:
        data = stream.read1(READ_BYTES)  # type: ignore[attr-defined]
        rest += data
        waiting += data.count(b"\n")
        if data and waiting < CHUNK_LINES and (not waiting or has_more(stream)):
            continue
        lines = rest.split(b"\n")
        rest, waiting = lines.pop() if data else bytearray(), 0  # the line that is still coming stays
        if lines and not data and not lines[-1]:
            lines.pop()  # what follows the last line end is no line
        for start in range(0, len(lines), CHUNK_LINES):
            chunk = lines[start : start + CHUNK_LINES]
            yield from decode_lines(chunk, done + 1)
            done += len(chunk)
        if not data:
            return


def has_more(stream: IO[bytes]) -> bool:
    try:
        return bool(select.select([stream], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # no file of the system behind it, or one that cannot be asked: then it never waits
        return True


def decode_lines(lines: list[bytearray], first_line: int) -> Iterator[list[str]]:
    """The texts; at a line that is no UTF-8 those before it, then a DataError."""
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
