"""A lexical shortlist: which target tokens a source token may become. The output layer then computes these alone.

    t(y | x)  by IBM Model 1:   count(x, y) += t(y | x) / sum_x' t(y | x'),   t(y | x) = count(x, y) / count(x)

Brown et al. 1993. A token may always become itself, where the vocabulary is joint, and one of the most frequent.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import EOS, SPECIALS, UNK

Ids = NDArray[np.int64]
ROUNDS = 4  # of expectation and maximisation
MOST_PAIRS = 100_000  # that the table is learned from,
MOST_MEETINGS = 20_000_000  # and tokens beside tokens of them: about a gigabyte while it is learned
FREQUENT = 100  # target tokens that are always there


def learn_shortlist(pairs: Sequence[tuple[Ids, Ids]], num: int) -> tuple[dict[int, Ids], Ids]:
    """The `num` likeliest target tokens of each source token, likeliest first, and the most frequent of all."""
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
    """The first pairs, as many as memory takes; at least one."""
    products = np.cumsum([len(source) * len(target) for source, target in pairs[:MOST_PAIRS]])
    return pairs[: max(1, int(np.searchsorted(products, MOST_MEETINGS, side="right")))]


def meetings(pairs: Sequence[tuple[Ids, Ids]]) -> tuple[Ids, Ids, Ids]:
    """Every source token beside every target token of its pair; `group` numbers the target tokens of all pairs."""
    xs, ys, groups, done = [], [], [], 0
    for source, target in pairs:
        xs.append(np.tile(source, len(target)))
        ys.append(np.repeat(target, len(source)))
        groups.append(np.repeat(np.arange(done, done + len(target)), len(source)))
        done += len(target)
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(groups)


def write_shortlist(likely: dict[int, Ids], frequent: Ids, tokenizers: Tokenizers, file: Path) -> None:
    """The map that CTranslate2 reads: source token, tab, target tokens; the first line is for all sources."""
    source, target = tokenizers.source.tokens(), tokenizers.target.tokens()
    if any(any(char.isspace() for char in token) for token in (*source, *target)):
        raise UsageError("a shortlist needs tokens without blanks in them: a tokenizer bpe, unigram or word")
    always = [SPECIALS[EOS], SPECIALS[UNK], *(target[index] for index in frequent)]
    lines = ["\t" + " ".join(always)]
    for index in range(len(SPECIALS), len(source)) if tokenizers.joint else sorted(likely):
        itself = [source[index]] if tokenizers.joint else []  # also a token that the training pairs do not have
        lines.append(f"{source[index]}\t{' '.join([*itself, *(target[y] for y in likely.get(index, []))])}")
    file.write_text("\n".join(lines) + "\n", "utf-8")
