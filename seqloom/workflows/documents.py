"""seqloom translate page.html -o other.html: a file with a structure, of which only the texts are translated."""

from collections.abc import Callable, Sequence
from pathlib import Path

from seqloom.config import TASKS
from seqloom.decode.options import SearchRequest
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import replace_file
from seqloom.files.reading import read_file
from seqloom.runtime.folder import read_config
from seqloom.runtime.translator import Translator
from seqloom.serve.documents import READERS, translate_document
from seqloom.serve.finding import Found, Wanted, make_find

MOST_BYTES = 16 << 20
CHUNK = 1024  # texts that are searched together


def is_document(file: str) -> bool:
    """Whether a file has a structure that stays; plain text goes line by line, with every option of the command."""
    ending = Path(file).suffix.lower()
    return ending in READERS and ending != ".txt"


def translate_file(
    folders: Sequence[Path],
    file: Path,
    out: Path,
    request: SearchRequest,
    *,
    threads: int | None = None,
    engine: str = "auto",
    say: Callable[[str], None],
) -> None:
    """Translate the texts of a file into a new one. Tags and placeholders are kept by the word alignment."""
    request.check()
    if request.shown > 1:
        raise UsageError(f"{file}: a file like this has one output; leave out --n-best, --alternatives and --sample")
    if out.exists():
        raise UsageError(f"--out {out}: exists already; name a new file")
    try:
        text = read_file(file, MOST_BYTES, links=True).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8 (byte {error.start}); convert it first") from None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    task = read_config(folders[0]).task.name
    if TASKS[task].shape != "writes":
        raise UsageError(f"{folders[0]}: this model was trained for '{task}'; such a file needs one that writes texts")
    translator = Translator.load_ensemble(folders, threads, engine=engine, notice=say)
    find = make_find(translator, warn=say)
    done = 0

    def in_chunks(texts: Sequence[str], wanted: Wanted) -> list[Found]:
        nonlocal done
        found = [one for start in range(0, len(texts), CHUNK) for one in find(texts[start : start + CHUNK], wanted)]
        done += len(texts)
        return found

    try:
        written = translate_document(text, file.suffix.lower(), in_chunks, Wanted(request))
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    replace_file(out, written)
    say(f"{out}: {done:,} texts translated")
