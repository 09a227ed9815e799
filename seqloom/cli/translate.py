"""seqloom translate: translate lines."""

import sys
import time
from pathlib import Path
from typing import Annotated

from seqloom.cli.flags import (
    ALL_MODEL_FLAGS,
    BULK_FLAGS,
    NO_BULK,
    NO_OPTIONS,
    BulkFlags,
    ModelFlags,
    flattened,
    search_flags,
)
from seqloom.decode.options import SearchRequest
from seqloom.workflows.documents import is_document, translate_file
from seqloom.workflows.models import model_and_input
from seqloom.workflows.translate import PrefixLines, as_texts, format_lines
from seqloom.workflows.translate import translate as run


def translate(
    folder: str | None = None,
    file: str | None = None,
    /,
    *,
    search: Annotated[SearchRequest, search_flags("translate")] = NO_OPTIONS,
    prefix: str | None = None,
    prefix_file: Path | None = None,
    scores: bool = False,
    models: Annotated[ModelFlags, flattened("models", "with_", "threads", "engine")] = ALL_MODEL_FLAGS,
    bulk: Annotated[BulkFlags, BULK_FLAGS] = NO_BULK,
) -> None:
    """Translate text: one output line per input line.

    Without a model folder the bundled model translates from English to French; `seqloom models` lists the others, whose
    names are used like folders.

    A line without a letter or digit comes back unchanged, unless at least 1 % of the training sources were such lines.
    A line that is longer than any training sentence is split and translated sentence by sentence. A model for
    summaries, dialogue or pronunciation cuts a long line instead and prints a notice to standard error. In a terminal,
    or if a program waits for each answer, each line is translated as soon as it arrives. A classifier or tagger prints
    the label or the tags. A masked model fills the gaps that you write as ___; with --n-best it prints the N best
    fillings.

    With --scores each line is SCORE<TAB>TEXT. SCORE is the log-probability divided by length ** length penalty. With
    --n-best, --alternatives or --sample N > 1, each input line gives up to N lines: LINE<TAB>TEXT, or
    LINE<TAB>SCORE<TAB>TEXT. LINE is the number of the input line. Identical outputs are printed once, so there may be
    fewer than N. If you leave an option out, the model's settings decide (section decode). The sampling options
    (--temperature, --top-k, --top-p, --seed) need --sample.

    With --out, a large file is translated in numbered chunks by --workers processes or a Ray cluster. The output has
    the bytes of `seqloom translate --threads 1`. After Ctrl-C or a kill, the same command continues.
    Of a file that ends in .html, .srt, .po or .json, --out gets the same file with translated texts: tags, times, keys
    and placeholders stay.

    Parameters
    ----------
    folder
        model folder, as written by `seqloom train --out`, or the name of a bundled model [default: en-fr]
    file
        UTF-8 text file, may be .gz; - is standard input. If it is not a file and does not look like a file name, it is
        the text to translate [default: -]
    prefix
        text that every output must begin with
    prefix_file
        file with one prefix per input line; an empty line means no prefix
    scores
        print the score of each translation

    Examples
    --------
        echo "They are watching." | seqloom translate
        seqloom translate "They are watching."
        seqloom translate fr-en "Ils regardent."
        seqloom translate runs/x "a sentence"
        echo "a sentence" | seqloom translate runs/x
        seqloom translate runs/x input.txt > output.txt
        seqloom translate runs/x input.txt.gz --beam 1
        seqloom translate runs/x input.txt --n-best 5 --scores
        seqloom translate runs/x input.txt --prefix "Sehr geehrte" --alternatives 5
        seqloom translate runs/x input.txt --sample 5 --temperature 0.8 --top-p 0.9
        seqloom translate runs/x input.txt --with runs/y --with runs/z
        seqloom translate runs/x input.txt --mbr 20
        seqloom translate runs/x big.txt.gz -o output.txt.gz --workers 8
        seqloom translate runs/x big.txt -o output.txt --ray 10.0.0.1:6379
        seqloom translate runs/x film.srt -o film.fr.srt
    """
    bulk.check()
    model, given = model_and_input(folder, file)
    file = given or "-"
    if bulk.out is not None and is_document(file):
        translate_file(
            [model, *models.with_], Path(file), bulk.out, search, threads=models.threads, engine=models.engine,
            say=lambda message: print(message, file=sys.stderr),
        )  # fmt: skip
        return
    if bulk.out is not None:
        translate_bulk([model, *models.with_], file, search, PrefixLines(prefix, prefix_file), scores, models, bulk)
        return
    texts = as_texts(file)
    path = None if file == "-" or texts else Path(file)
    if texts and not any(map(str.isspace, file)):
        print(f"{file}: no such file, so this is translated as a text", file=sys.stderr)
    typed = path is None and not texts and sys.stdin is not None and sys.stdin.isatty()
    if typed:
        print("Type a line to translate it; Ctrl-D ends.", file=sys.stderr)
    counter = Counter(silent=typed or sys.stdout.isatty() or not sys.stderr.isatty())
    chunks = run(
        [model, *models.with_],
        path,
        search,
        texts=texts,
        prefixes=PrefixLines(prefix, prefix_file),
        threads=models.threads,
        engine=models.engine,
        say=lambda message: print(message, file=sys.stderr),
    )
    done = 0
    for chunk in chunks:
        sys.stdout.writelines(format_lines(chunk, done + 1, search.shown, scores))
        sys.stdout.flush()
        done += len(chunk)
        counter.show(done)
    counter.end()


def translate_bulk(
    folders: list[Path],
    file: str,
    search: SearchRequest,
    prefixes: PrefixLines,
    scores: bool,
    models: ModelFlags,
    bulk: BulkFlags,
) -> None:
    """Translate a file in chunks."""
    from seqloom.workflows.bulk import Crew, bulk_translate

    assert bulk.out is not None
    crew = Crew(bulk.out, bulk.workers, bulk.ray, models.threads or 1)
    bulk_translate(
        folders, Path(file), search, crew, prefixes=prefixes, scores=scores, engine=models.engine,
        say=lambda message: print(message, file=sys.stderr),
    )  # fmt: skip


class Counter:
    """Shows the number of lines done on a terminal that shows nothing else."""

    def __init__(self, silent: bool) -> None:
        self.start = time.monotonic()
        self.shown = False
        self.silent = silent

    def show(self, done: int) -> None:
        if not self.silent:
            self.shown = True
            rate = done / (time.monotonic() - self.start)
            print(f"\r{done:,} lines, {rate:,.1f} per second ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.shown:
            print(file=sys.stderr)
