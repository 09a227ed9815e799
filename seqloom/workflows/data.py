"""seqloom data: list the public corpora, and fetch one as files that `train` reads."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from seqloom.corpora.catalogue import CORPORA, Corpus, find_corpus
from seqloom.corpora.convert import Pairs, cleaned
from seqloom.corpora.fetch import fetch
from seqloom.demo import dates, numbers
from seqloom.errors import UsageError
from seqloom.files.durable import new_file, replace_file
from seqloom.files.reading import open_regular
from seqloom.progress import make_progress

GENERATED = {"dates": dates.generate, "numbers": numbers.generate}
ABOUT = {
    "dates": "dates as people write them in English and French, and the ISO date",
    "numbers": "numbers in English and French words, and their digits",
}
NUM_PAIRS = 20_000
HELD_OUT = 1_000  # of generated pairs
SEED = 1
Say = Callable[[str], None]


def list_corpora() -> Iterator[str]:
    """One line per corpus: name, what it holds, licence."""
    for corpus in CORPORA:
        yield f"{corpus.name}\n    {corpus.about}. Licence: {corpus.licence}. Example: {corpus.example}"
    for name, about in ABOUT.items():
        yield f"{name}\n    {about}. Generated here, without a network. Licence: none needed"


def get(name: str, out: Path, agree: Callable[[str], bool], say: Say) -> list[Path]:
    """Fetch a corpus into a new folder; `agree` is asked with the licence. Returns the files for `train`."""
    if name in GENERATED:
        check_folder(out)
        return generate(name, out)
    corpus = find_corpus(name)
    check_folder(out)
    if not agree(f"{name}: {corpus.about}. Licence: {corpus.licence}."):
        raise UsageError("nothing was fetched; --yes agrees without a question")
    return get_corpus(corpus, out, say)


def check_folder(out: Path) -> None:
    """Refuse a folder with other files; one with a broken download is continued."""
    try:
        names = {entry.name for entry in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}; want a new folder") from None
    if names - {"download"}:
        raise UsageError(f"--out {out}: the folder is not empty; name a new one")


def generate(name: str, out: Path) -> list[Path]:
    pairs = GENERATED[name](NUM_PAIRS, SEED)
    make_folder(out)
    parts = {"train.tsv": pairs[:-HELD_OUT], "dev.tsv": pairs[-HELD_OUT:]}
    return [write_pairs(out / file, iter(part))[0] for file, part in parts.items()]


def get_corpus(corpus: Corpus, out: Path, say: Say) -> list[Path]:
    folder = out / "download"
    make_folder(folder)
    files, origin = [], [f"Licence: {corpus.licence}"]
    for number, url in enumerate(corpus.urls(corpus.choice)):
        path = folder / f"{number}-{url.rsplit('/', 1)[1]}"
        wanted = corpus.sha256[number] if corpus.sha256 else ""
        with make_progress("fetch", unit="byte") as progress:

            def show(done: int, total: int | None, progress=progress) -> None:  # type: ignore[no-untyped-def]
                progress.pace.total = total
                progress.update(done)

            origin.append(f"{url} sha256 {fetch(url, path, sha256=wanted, show=show)}")
        files.append(path)
    written = []
    for name, content in corpus.read(corpus.choice, files):
        if isinstance(content, Path):
            with new_file(out / name) as file, open_regular(content) as source:
                shutil.copyfileobj(source, file)
            written.append(out / name)
            continue
        path, num = write_pairs(out / name, content)
        say(f"{path}: {num:,} pairs")
        written.append(path)
    replace_file(out / "ORIGIN.txt", "\n".join(origin) + "\n")
    shutil.rmtree(folder)
    return written


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}; want a folder that can be made") from None


def write_pairs(path: Path, pairs: Pairs) -> tuple[Path, int]:
    """Write a two-column file, whole or not at all."""
    num = 0
    with new_file(path) as file:
        for source, target in cleaned(pairs):
            file.write(f"{source}\t{target}\n".encode())
            num += 1
    return path, num


def ask(question: str, say: Say) -> bool:
    """Ask on the terminal; no answer is a no."""
    say(question)
    with suppress(EOFError):
        return input("Fetch it? [y/N] ").strip().lower() in ("y", "yes")
    return False
