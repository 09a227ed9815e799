"""The batches that a run would read, without preparing all of its data.

From files: a sample of the pairs goes the whole way of the data (checks, tokenizer, store). From numbers: a store of
random ids whose lengths follow a gamma distribution with the given means,

    source ~ gamma(3),   target = source x (mean target / mean source) x noise
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.config import TASKS, Config
from seqloom.data.account import Account
from seqloom.data.corpus import CorpusSpec, Pair, usable_pairs
from seqloom.data.forms import ONE_COLUMN
from seqloom.data.given import Given, spool_given
from seqloom.data.read_as import AS_FOUND
from seqloom.data.store import SIDES, Store
from seqloom.data.store_builder import ColumnWriter
from seqloom.errors import UsageError
from seqloom.text.vocabulary import EOS, FIRST_WORD
from seqloom.training.choose_recipe import Sizes, estimate_pairs
from seqloom.training.data import gather_data
from seqloom.training.request import Settled, tell_nothing

LOOKED_AT = 100_000  # pairs read from the files
SAMPLED = 20_000  # of these, spread evenly: their tokens are counted
LEARNED = ("bpe", "unigram", "word")  # tokenizers whose vocabulary grows with the data, up to text.vocab_size
SHAPE = 3.0  # of the gamma distribution: the standard deviation is 0.58 of the mean, as in running text
NOISE = 0.15


@dataclass(frozen=True)
class Workload:
    """A small store that stands for the data of a run, and how many pairs that data has."""

    config: Config
    train: Store
    valid: Store
    vocab_sizes: tuple[int, int]
    pairs: int  # of training, in all the data

    @property
    def scale(self) -> float:
        """Pairs of the data per pair of the sample."""
        return self.pairs / len(self.train)


def sample_files(settled: Settled, folder: Path) -> Workload:
    """Read a sample of the files, and prepare it in the folder."""
    config, specs = settled.config, settled.specs
    sizes, looked_at = Sizes(), []
    for pair in islice(chain.from_iterable(usable_pairs(spec, config.data) for spec in specs), LOOKED_AT):
        sizes.add(pair)
        looked_at.append(pair)
    if not looked_at:
        raise UsageError(f"{specs[0].name}: no usable pair; run `seqloom doctor` for details")
    number = len(looked_at) if len(looked_at) < LOOKED_AT else estimate_pairs(specs, sizes)
    form = TASKS[config.task.name].form
    some = looked_at[:: -(-len(looked_at) // SAMPLED)]
    spec: CorpusSpec = spool_given(folder, "sample", Given(records_of(some, form)), AS_FOUND, form=form)
    request = replace(settled.request, out=folder, quiet=True, tell=tell_nothing, allow_loss=True)
    tokenizers, train, valid = gather_data(replace(settled, request=request, specs=(spec,)))
    known = (len(tokenizers.source), len(tokenizers.target))
    vocab_sizes = known if number == len(some) else tuple(map(max, known, wanted_sizes(config, known)))
    held_out = len(valid) if valid.held_out else 0
    return Workload(config, train, valid, (vocab_sizes[0], vocab_sizes[1]), max(1, number - held_out))


def records_of(pairs: Sequence[Pair], form: str) -> list[Any]:
    return [pair.source if form in ONE_COLUMN else (pair.source, *pair.targets) for pair in pairs]


def wanted_sizes(config: Config, known: tuple[int, int]) -> tuple[int, int]:
    """The sizes that the vocabularies would have with all the data; a sample may be too small to learn that many."""
    text, form = config.text, TASKS[config.task.name].form
    source = text.vocab_size if text.tokenizer in LEARNED else known[0]
    if form != "pairs":
        return source, source if form in ONE_COLUMN else known[1]
    kind = text.tokenizer if text.target_tokenizer == "same" else text.target_tokenizer
    target = (text.target_vocab_size or text.vocab_size) if kind in LEARNED else known[1]
    return source, source if text.joint else target


def make_up(config: Config, pairs: int, means: tuple[float, float], folder: Path) -> Workload:
    """Make the stores of a workload that is known by numbers alone: pairs, and mean tokens per side."""
    form = TASKS[config.task.name].form
    if form not in ("pairs", *ONE_COLUMN):
        raise UsageError(f"--task {config.task.name}: its labels have to be counted; give a file instead of --pairs")
    random = np.random.default_rng(config.train.seed)
    source_size = config.text.vocab_size
    target_size = source_size if config.text.joint else config.text.target_vocab_size or source_size
    smaller = min(source_size, target_size)
    held_out = min(config.data.valid_pairs, max(1, pairs // 10))
    stores = [
        write_store(folder, part, draw_lengths(config, number, means, form in ONE_COLUMN, random), smaller)
        for part, number in (("train", min(SAMPLED, pairs)), ("valid", min(SAMPLED, held_out)))
    ]
    return Workload(config, stores[0], stores[1], (source_size, target_size), max(1, pairs - held_out))


def draw_lengths(
    config: Config, number: int, means: tuple[float, float], one_column: bool, random: np.random.Generator
) -> list[NDArray[np.int32]]:
    """Lengths of both sides, at least 1 and at most data.max_tokens, with these means before they are cut."""
    source = random.gamma(SHAPE, means[0] / SHAPE, number)
    target = source * (means[1] / means[0]) * random.normal(1.0, NOISE, number)
    sides = [np.clip(np.rint(side), 1, config.data.max_tokens).astype(np.int32) for side in (source, target)]
    return [sides[0], np.zeros(number, np.int32)] if one_column else sides


def write_store(folder: Path, part: str, lengths: Sequence[NDArray[np.int32]], vocab_size: int) -> Store:
    """Write one part of a store with random ids of the given lengths."""
    random, number = np.random.default_rng(0), len(lengths[0])
    (folder / part).mkdir()
    with ColumnWriter(folder / part) as columns:
        for side, length in zip(SIDES, lengths, strict=True):
            first = min(FIRST_WORD, vocab_size - 1)
            columns.write(f"{side}.ids", random.integers(first, vocab_size, int(length.sum()), np.uint32))
            columns.write(f"{side}.lengths", length)
            columns.write(f"{side}.starts", np.cumsum(length, dtype=np.int64) - length)
        columns.write("lines", np.arange(1, number + 1, dtype=np.uint32))
        columns.write("corpora", np.zeros(number, np.uint16))
    manifest = {
        "data_hash": "", "held_out": True, "line_end": EOS, "dtype": "uint32", "corpora": {part: [("pairs", 1.0)]},
        "accounts": {part: asdict(Account(number, number))},
    }  # fmt: skip
    return Store(folder, part, manifest)
