"""Without --recipe: which one fits the kind and the size of the data, and why, said aloud."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from seqloom.config import DataConfig, load_config
from seqloom.data.corpus import CorpusSpec, Pair, usable_pairs
from seqloom.workflows.recipes import find_recipe

LOOKED_AT = 2000  # pairs from the start of the data
SHORT = 40  # characters: words, dates and codes, not sentences
GZIP = 3  # a compressed text is about a third of its size
CHARS_A_TOKEN = {"characters-rnn": 1, "transformer-small": 4}
ENOUGH_UPDATES = 5000
SMALL = 300_000  # pairs: all of them should be seen a few times
OF_TASK = {
    "pronounce": "g2p-rnnsearch",
    "classify": "classify-lstm",
    "tag": "tag-bilstm",
    "masked": "bert-small",
    "language": "gpt-small",
    "denoise": "bart-small",
    "summarise": "summarise-small",
    "dialogue": "dialogue-small",
}

FINE_TUNED = {"classify": "finetune-labels", "tag": "finetune-labels"}


@dataclass(frozen=True)
class Choice:
    recipe: str
    settings: tuple[str, ...]  # laid over the recipe, under what the user sets
    reason: str


def choose_recipe(task: str, specs: Sequence[CorpusSpec], data: DataConfig, begun: bool = False) -> Choice:
    """The task's own; to translate, characters for single words, else a small Transformer, and enough epochs.

    `begun`: it begins from an earlier model, which small steps are to keep.
    """
    if begun and task in FINE_TUNED:
        return Choice(FINE_TUNED[task], (f"task.name={task}",), f"the usual one to {task} with --init")
    if task in OF_TASK:
        return Choice(OF_TASK[task], (f"task.name={task}",), f"the usual one to {task}")
    pairs = list(islice(usable_pairs(specs[0], data), LOOKED_AT))
    lengths = sorted(max(len(pair.source), len(pair.targets[0])) for pair in pairs)
    typical = lengths[len(lengths) // 2] if lengths else 0
    one_word = typical <= SHORT and not any(" " in pair.targets[0].strip() for pair in pairs)
    name = "characters-rnn" if one_word else "transformer-small"
    number = estimate_pairs(specs, pairs)
    batch_tokens = load_config(find_recipe(name)).train.batch_tokens
    updates = max(1.0, number * (1 + typical / CHARS_A_TOKEN[name]) / batch_tokens)  # in an epoch
    epochs = min(300, max(3 if number <= SMALL else 1, math.ceil(ENOUGH_UPDATES / updates)))
    kind = "single words, read by characters" if one_word else "sentences"
    reason = f"{kind} (typical: {typical} characters), about {number:,} pairs: {epochs} epochs"
    return Choice(name, (f"train.max_epochs={epochs}",), reason)


def estimate_pairs(specs: Sequence[CorpusSpec], pairs: Sequence[Pair]) -> int:
    """All pairs, when the first ones were all; else from the size of the files."""
    if len(pairs) < LOOKED_AT and len(specs) == 1:
        return len(pairs)
    looked_at = sum(len(text.encode()) + 1 for pair in pairs for text in (pair.source, pair.targets[0]))
    files = [file for spec in specs for file in spec.files]
    size = sum(file.stat().st_size * (GZIP if file.suffix == ".gz" else 1) for file in files)
    return round(size * len(pairs) / max(1, looked_at))
