"""The embedding table of a trained model as word vectors: its tokens are the words.

    "▁king" -> king      a piece that begins a word has the name of that word
    "ing"   -> ##ing     a piece inside a word, or at the very beginning of a text (as BERT writes it)

Special tokens and loose bytes of rare characters have no name and are left out. Whole words come first.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from seqloom.config import SHAPES, TASKS
from seqloom.errors import ModelError, UsageError
from seqloom.models.compact_weights import read_arrays
from seqloom.runtime.folder import WEIGHTS, RunFolder, open_run
from seqloom.text.tokenizer import BLANK, Tokenizer
from seqloom.text.vocabulary import FIRST_WORD
from seqloom.vectors.word_vectors import Matrix, WordVectors

SIDES = ("source", "target")
BYTE = re.compile("<0x[0-9A-F]{2}>")
INSIDE = "##"
SOURCE, TARGET, OUTPUT = "source_table.weight", "target_table.weight", "output.weight"


def load_table(folder: Path, side: str, say: Callable[[str], None]) -> WordVectors:
    """The rows of the embedding table of one side, by name; `say` reports which table it is and what is left out."""
    if side not in SIDES:
        raise UsageError(f"--side {side}: want source or target")
    run = open_run(folder)
    matrix, which = read_table(run, side)
    tokenizer = getattr(run.tokenizers, side)
    if len(tokenizer) != len(matrix):
        raise ModelError(
            f"{folder}: {len(matrix):,} word vectors for {len(tokenizer):,} tokens. Copy the folder again."
        )
    names = names_of(tokenizer)
    order = sorted(names, key=lambda row: names[row].startswith(INSIDE))  # whole words first; sorting is stable
    note = f"; {INSIDE}x is a piece that does not begin a word" if names[order[-1]].startswith(INSIDE) else ""
    say(
        f"{folder}: {which} of this model, {len(names):,} {tokenizer.kind} tokens of width {matrix.shape[1]} "
        f"({len(matrix) - len(names):,} special tokens and bytes left out){note}"
    )
    return WordVectors([names[row] for row in order], matrix[order])


def read_table(run: RunFolder, side: str) -> tuple[Matrix, str]:
    """The table, and what to call it. Shared tensors are in the file once, under their first name."""
    stored = read_arrays(run.path / WEIGHTS)
    table = table_of(run, side, {*stored})
    if table not in stored:
        raise ModelError(f"{run.path / WEIGHTS}: {table} is missing. Copy the whole folder again.")
    shared = run.tokenizers.joint and {SOURCE, TARGET} - {*stored}
    which = "the embedding table" if shared or SOURCE not in stored else f"the {side} embedding table"
    return stored[table].astype(np.float32), which


def table_of(run: RunFolder, side: str, names: set[str]) -> str:
    """The name of the tensor that holds the embeddings of one side."""
    if side == "source" or run.tokenizers.joint:
        order = (SOURCE, TARGET, OUTPUT) if side == "source" else (TARGET, SOURCE, OUTPUT)
        return next((name for name in order if name in names), OUTPUT)
    task = run.config.task.name
    if SHAPES[TASKS[task].shape].encoder_only:
        raise UsageError(f"{run.path}: this model was trained for {task!r}: its answers are labels without embeddings.")
    return TARGET if TARGET in names else OUTPUT


def names_of(tokenizer: Tokenizer) -> dict[int, str]:
    """Row -> name, for each token that has one."""
    spelled, pieces = tokenizer.tokens(), tokenizer.pieces(range(len(tokenizer)))
    rows = [
        row for row in range(FIRST_WORD, len(pieces)) if not (BYTE.search(spelled[row]) or BYTE.search(pieces[row]))
    ]
    marked = tokenizer.kind != "char" and any(len(pieces[row]) > 1 and pieces[row][0] == BLANK for row in rows)
    if not marked:
        return {row: pieces[row] for row in rows}
    return {
        row: pieces[row].removeprefix(BLANK) or BLANK if pieces[row][0] == BLANK else INSIDE + pieces[row]
        for row in rows
    }
