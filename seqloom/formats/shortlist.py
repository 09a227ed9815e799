"""Lexical shortlist: the target tokens that may translate a source token; the output layer computes only these.

    t(y | x)  by IBM Model 1:   count(x, y) += t(y | x) / sum_x' t(y | x'),   t(y | x) = count(x, y) / count(x)

Brown et al. 1993. The most frequent target tokens are always allowed; so is, in a joint vocabulary, the token itself.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seqloom.data.store import Store
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import write_new
from seqloom.runtime.folder import RunFolder
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import EOS, SPECIALS, UNK

Ids = NDArray[np.int64]
ROUNDS = 4  # rounds of expectation and maximisation
MOST_PAIRS = 100_000  # limit of the pairs that the table is learned from
MOST_MEETINGS = 20_000_000  # limit of pairs of tokens in them: needs about a gigabyte
FREQUENT = 100  # number of target tokens that are always allowed


def learn_shortlist(pairs: Sequence[tuple[Ids, Ids]], num: int) -> tuple[dict[int, Ids], Ids]:
    """Return the `num` likeliest target tokens of each source token, likeliest first, and the most frequent of all."""
    x, y, group = meetings(enough(pairs))
    size = int(y.max()) + 1
    keys, which = np.unique(x * size + y, return_inverse=True)  # each (x, y) once
    sources, targets = keys // size, keys % size
    t = np.ones(len(keys))
    for _ in range(ROUNDS):
        expected = t[which]
        expected /= np.bincount(group, expected)[group]
        count = np.bincount(which, expected)
        t = count / np.bincount(sources, count)[sources]
    order = np.lexsort((-t, sources))
    starts = np.flatnonzero(np.diff(sources[order], prepend=-1))
    likely = {int(sources[part[0]]): targets[part[:num]] for part in np.split(order, starts[1:])}
    often = np.bincount(np.concatenate([target for _, target in pairs]))
    frequent = np.argsort(-often, kind="stable")[:FREQUENT]
    return likely, frequent[often[frequent] > 0]


def enough(pairs: Sequence[tuple[Ids, Ids]]) -> Sequence[tuple[Ids, Ids]]:
    """Return the first pairs, as many as fit into memory but at least one."""
    products = np.cumsum([len(source) * len(target) for source, target in pairs[:MOST_PAIRS]])
    return pairs[: max(1, int(np.searchsorted(products, MOST_MEETINGS, side="right")))]


def meetings(pairs: Sequence[tuple[Ids, Ids]]) -> tuple[Ids, Ids, Ids]:
    """Return every source token with every target token of its pair; `group` numbers the target tokens of all pairs."""
    xs, ys, groups, done = [], [], [], 0
    for source, target in pairs:
        xs.append(np.tile(source, len(target)))
        ys.append(np.repeat(target, len(source)))
        groups.append(np.repeat(np.arange(done, done + len(target)), len(source)))
        done += len(target)
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(groups)


def write_shortlist(likely: dict[int, Ids], frequent: Ids, tokenizers: Tokenizers, file: Path) -> None:
    """Write the map that CTranslate2 reads: source token, tab, target tokens; the first line is for all sources."""
    source, target = tokenizers.source.tokens(), tokenizers.target.tokens()
    if any(any(char.isspace() for char in token) for token in (*source, *target)):
        raise UsageError("a shortlist needs tokens without spaces: set text.tokenizer to bpe, unigram or word")
    always = [SPECIALS[EOS], SPECIALS[UNK], *(target[index] for index in frequent)]
    lines = ["\t" + " ".join(always)]
    for index in range(len(SPECIALS), len(source)) if tokenizers.joint else sorted(likely):
        itself = [source[index]] if tokenizers.joint else []  # also a token that the training pairs do not have
        lines.append(f"{source[index]}\t{' '.join([*itself, *(target[y] for y in likely.get(index, []))])}")
    write_new(file, "\n".join(lines) + "\n")


def add_shortlist(run: RunFolder, num: int, file: Path) -> None:
    """Learn the shortlist from the training pairs of the run, and write it."""
    try:
        store = Store.open(run.path / "store")
    except (DataError, OSError) as error:
        raise UsageError(f"--shortlist is learned from the training pairs, which are gone: {error}") from None
    rows = np.arange(min(len(store), MOST_PAIRS))
    sides = [
        np.split(ids.astype(np.int64), np.cumsum(lengths)[:-1])
        for ids, lengths in (store.take(s, rows) for s in ("source", "target"))
    ]
    write_shortlist(*learn_shortlist(list(zip(*sides, strict=True)), num), run.tokenizers, file)
