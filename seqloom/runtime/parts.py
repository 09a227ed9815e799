"""From texts to what a search takes at once, and from what it finds back to texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from seqloom.config import Config
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchOptions
from seqloom.runtime.inputs import Warn, prepare
from seqloom.runtime.prefixes import PrefixTexts, check_room, encode_prefixes
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer

MOST_ROWS = 1024  # hypotheses at once: with a wide beam fewer sentences, so that it does not take all the memory


@dataclass(frozen=True, slots=True)
class Translation:
    text: str
    score: float  # what hypotheses are ranked by; the mean over the parts of a text that was split
    log_prob: float  # natural log of the probability, summed over the tokens


@dataclass(frozen=True, slots=True)
class Part:
    """A text, or a piece of a long one."""

    ids: list[int]
    prefix: list[int] = field(default_factory=list)
    place: tuple[int, int] = (0, 0)  # its line and its number in the line: what chance depends on


NOTHING = Translation("", 0.0, 0.0)  # what becomes of an empty text


def split_texts(
    texts: Sequence[str],
    tokenizers: Tokenizers,
    config: Config,
    usual_tokens: int | None,
    options: SearchOptions,
    prefixes: PrefixTexts,
    lines: Sequence[int],
    warn: Warn,
) -> list[list[Part]]:
    """The parts of each text; the first one has the prefix."""
    data = config.data
    prepared = prepare(
        texts,
        tokenizers.source,
        max_tokens=data.max_tokens,
        usual_tokens=usual_tokens,
        normalise=data.normalise,
        by_sentence=config.task.name == "translate",
        by_turn=config.task.name == "dialogue",
        lines=lines,
        warn=warn,
    )
    begins = encode_prefixes(prefixes, tokenizers.target, data.normalise, lines)
    found = []
    for line, begin, parts in zip(lines, begins, prepared, strict=True):
        if parts:
            check_room(line, begin, options.limit(len(parts[0]) + 1))
        found.append([Part(ids, [] if place else begin, (line, place)) for place, ids in enumerate(parts)])
    return found


def flat(texts: list[list[Part]]) -> list[Part]:
    return [part for parts in texts for part in parts]


def join(
    texts: list[list[Part]], found: list[list[Hypothesis]], num: int, tokenizer: Tokenizer
) -> list[list[Translation]]:
    """The best of each part makes the best of its text, the second best the second, and so on."""
    answers = iter(found)
    joined = []
    for parts in texts:
        ranked = zip(*[next(answers) for _ in parts], strict=False)
        joined.append([in_words(best, tokenizer) for best in ranked] if parts else [NOTHING] * num)
    return joined


def without_repeats(ranked: list[Translation]) -> list[Translation]:
    """The first of those that read the same: tokens may differ where texts do not."""
    first: dict[str, Translation] = {}
    for found in ranked:
        first.setdefault(found.text, found)
    return [*first.values()]


def in_words(parts: Sequence[Hypothesis], tokenizer: Tokenizer) -> Translation:
    texts = [tokenizer.decode(part.ids) for part in parts]
    return Translation(
        # A piece with its blank before it may stand first, where no text of the training data has one.
        text=" ".join(texts if tokenizer.kind == "char" else map(str.strip, texts)),
        score=sum(part.score for part in parts) / len(parts),
        log_prob=sum(part.log_prob for part in parts),
    )
