"""Without --recipe: choose one that fits the kind and the size of the data, and say why.

This reads the pairs of all corpora, the first 300,000 at most. It comes before the checking pass, because the recipe
decides how the tokenizer learns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import median_low

from seqloom.config import TASKS, DataConfig, load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.corpus import CorpusSpec, Pair, usable_pairs

LOOKED_AT = 300_000  # pairs: a file may be sorted by length, so its first lines say little of the others
MOST_WITH_BLANKS = 0.01  # share of the targets that may have a blank where all are single words
SHORT = 40  # characters: words, dates and codes, not sentences
GZIP = 3  # a text is about three times as large as its gzip file
CHARS_PER_TOKEN = {"characters-rnn": 1, "transformer-small": 4}
ENOUGH_UPDATES = 5000
SMALL = 300_000  # pairs: all of them should be seen a few times
# With rotary positions a Transformer is level with the recurrent recipes after two minutes of one core, and ahead after
# four (docs/log.md). The recipe itself keeps sinusoids, because only these have a Hugging Face form.
FASTER = {"transformer-small": ("model.positions=rotary",)}


@dataclass(frozen=True)
class Choice:
    recipe: str
    settings: tuple[str, ...]  # they override the recipe; the user's own settings override them
    reason: str
    epochs: int = 0  # among the settings; a budget or a limit of the user takes their place


def choose_recipe(task: str, specs: Sequence[CorpusSpec], data: DataConfig, begun: bool = False) -> Choice:
    """Choose the task's own recipe; for translation characters for single words, else a small Transformer.

    The number of epochs follows from the size of the data. begun: the run starts from an earlier model (--init), so a
    recipe with small steps is chosen.
    """
    record = TASKS[task]
    if begun and record.fine_tune_recipe:
        return Choice(record.fine_tune_recipe, (f"task.name={task}",), f"the default for {task} with --init")
    if record.recipe:
        return Choice(record.recipe, (f"task.name={task}",), f"the default for {task}")
    sizes = Sizes()
    for pair in islice(chain.from_iterable(usable_pairs(spec, data) for spec in specs), LOOKED_AT):
        sizes.add(pair)
    typical = sizes.typical
    one_word = typical <= SHORT and sizes.with_blanks <= MOST_WITH_BLANKS * len(sizes.lengths)
    name = "characters-rnn" if one_word else "transformer-small"
    number = estimate_pairs(specs, sizes)
    batch_tokens = load_config(find_recipe(name)).train.batch_tokens
    updates = max(1.0, number * (1 + typical / CHARS_PER_TOKEN[name]) / batch_tokens)  # per epoch
    epochs = min(300, max(3 if number <= SMALL else 1, math.ceil(ENOUGH_UPDATES / updates)))
    kind = "single words, read by characters" if one_word else "sentences"
    about = "" if number == len(sizes.lengths) else "about "
    reason = f"{kind} (typical: {typical} characters), {about}{number:,} pairs"
    return Choice(name, (f"train.max_epochs={epochs}", *FASTER.get(name, ())), reason, epochs)


class Sizes:
    """The lengths of the pairs that were read."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.bytes = self.with_blanks = 0

    def add(self, pair: Pair) -> None:
        target = pair.targets[0]
        self.lengths.append(max(len(pair.source), len(target)))
        self.bytes += len(pair.source.encode()) + len(target.encode()) + 2  # each with a tab or a line end
        self.with_blanks += " " in target.strip()

    @property
    def typical(self) -> int:
        """The median, in characters."""
        return median_low(self.lengths) if self.lengths else 0


def estimate_pairs(specs: Sequence[CorpusSpec], sizes: Sizes) -> int:
    """Count the pairs when all were read; else estimate their number from the size of the files."""
    if len(sizes.lengths) < LOOKED_AT:
        return len(sizes.lengths)
    files = [file for spec in specs for file in spec.files]
    size = sum(file.stat().st_size * (GZIP if file.suffix == ".gz" else 1) for file in files)
    return max(LOOKED_AT, round(size * len(sizes.lengths) / max(1, sizes.bytes)))
