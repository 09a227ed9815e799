"""The tokenizers of a run: learned from the texts of the checking pass, or taken from a folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seqloom.config import TASKS, Config
from seqloom.data.forms import LABELS, ONE_COLUMN
from seqloom.data.text_spool import TextSpool
from seqloom.progress import make_progress
from seqloom.text.labels import learn_labels
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import SPECIALS
from seqloom.training.request import Tell

BOTH = ("source", "target")


def sides_to_learn(config: Config, given: Path | None = None) -> tuple[str, ...]:
    """Return the sides whose texts a learner will read; `given` is a folder with a tokenizer to use instead."""
    labels = TASKS[config.task.name].form in LABELS  # labels and tags are always learned from the data
    if given:
        return ("target",) if labels else ()
    return BOTH


def find_tokenizers(spool: TextSpool, config: Config, given: Path | None, tell: Tell, quiet: bool) -> Tokenizers:
    """Learn the tokenizers, or load them from the folder `given`; labels and tags are always those of the data."""
    if TASKS[config.task.name].form not in LABELS:
        return Tokenizers.load(given) if given else learn_tokenizers(spool, config, tell, quiet)
    labels = learn_labels(spool.read(("target",)))
    if given:
        source = Tokenizers.load(given).source
    else:
        texts = read_spool(spool, ("source",), config.text.tokenizer, quiet)
        source = learn_tokenizer(config.text.tokenizer, texts, config.text.vocab_size)
    tell(f"tokenizer: {source.kind}, {len(source):,} tokens; {len(labels) - len(SPECIALS)} different labels")
    return Tokenizers(source, labels)


def learn_tokenizers(spool: TextSpool, config: Config, tell: Tell, quiet: bool) -> Tokenizers:
    """Learn one tokenizer for both sides, or one per side."""
    text = config.text
    if text.joint or TASKS[config.task.name].form in ONE_COLUMN:
        both = learn_tokenizer(text.tokenizer, read_spool(spool, BOTH, text.tokenizer, quiet), text.vocab_size)
        tell(f"tokenizer: {text.tokenizer}, {len(both):,} tokens for both sides")
        return Tokenizers(both, both)
    source = learn_tokenizer(text.tokenizer, read_spool(spool, ("source",), text.tokenizer, quiet), text.vocab_size)
    size, setting = text.vocab_size, "text.vocab_size"
    if text.target_vocab_size:
        size, setting = text.target_vocab_size, "text.target_vocab_size"
    kind = text.tokenizer if text.target_tokenizer == "same" else text.target_tokenizer
    target = learn_tokenizer(kind, read_spool(spool, ("target",), kind, quiet), size, setting)
    tell(f"tokenizer: {text.tokenizer}, {len(source):,} tokens; of the target: {kind}, {len(target):,}")
    return Tokenizers(source, target)


def read_spool(spool: TextSpool, sides: Sequence[str], kind: str, quiet: bool) -> Iterator[str]:
    """Yield the texts of these sides and show the progress."""
    with make_progress(f"learning {kind} tokens", spool.pairs, unit="pair", quiet=quiet) as progress:
        for number, text in enumerate(spool.read(sides)):
            if number % (10_000 * len(sides)) == 0:
                progress.update(number // len(sides))
            yield text
        progress.finish(spool.pairs)
