"""Learn a vocabulary from texts, read once and in any order. The same texts give the same file, byte for byte."""

import json
from collections import Counter
from collections.abc import Iterable

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, trainers

from seqloom.errors import UsageError, did_you_mean
from seqloom.text.tokenizer import BLANK, BYTE_OF, Tokenizer
from seqloom.text.vocabulary import SPECIALS, UNK

# A run of letters (with their marks), of digits or of signs, each with the space before it; the remaining blanks.
# Letters and signs never share a piece, so no learned piece can be spelled "</s>".
WORDS = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def learn_tokenizer(kind: str, texts: Iterable[str], vocab_size: int, setting: str = "text.vocab_size") -> Tokenizer:
    """Learn a tokenizer of at most `vocab_size` tokens, special ones included; `setting` is the name of that number."""
    if kind not in LEARNERS:
        raise UsageError(f"tokenizer {kind!r}: want one of {', '.join(LEARNERS)}.{did_you_mean(kind, LEARNERS)}")
    least = len(SPECIALS) + (1 if kind == "word" else len(BYTES))
    if vocab_size < least:
        what = "one word" if kind == "word" else "the 256 bytes"
        raise UsageError(
            f"{setting} = {vocab_size} is too small for {kind}: want at least {least}, "
            f"the {len(SPECIALS)} special tokens and {what}"
        )
    engine = LEARNERS[kind](texts, vocab_size)
    add_specials(engine)
    return Tokenizer(engine)


def add_specials(engine: tokenizers.Tokenizer) -> None:
    engine.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])


def learn_bpe(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """Learn byte-level byte-pair encoding: join the most frequent pair of pieces, again and again (Sennrich, 2016)."""
    engine = byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(BYTE_OF),  # all 256, so that no text is ever unknown
        show_progress=False,
    )
    engine.train_from_iterator(texts, trainer)
    return engine


def learn_unigram(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """Learn unigram pieces over bytes: argmax over spellings of sum(log p(piece)) (Kudo, 2018)."""
    engine = byte_level(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIALS),
        unk_token=SPECIALS[UNK],
        initial_alphabet=sorted(BYTE_OF),
        show_progress=False,
    )
    engine.train_from_iterator(texts, trainer)
    learned = json.loads(engine.to_str())["model"]["vocab"][len(SPECIALS) :]
    vocabulary = [(token, 0.0) for token in SPECIALS] + settled(learned, vocab_size - len(SPECIALS))
    engine.model = models.Unigram(vocabulary, unk_id=UNK)
    return engine


def settled(pieces: list[tuple[str, float | None]], number: int) -> list[tuple[str, float]]:
    """Return at most `number` pieces, best first, the same in every run.

    The trainer's results depend on the order of a hash map: scores vary by about 1e-14, and bytes that the texts do not
    need get scores 0.0001 apart in that order. Here scores are rounded, and all such bytes get the lowest score.
    Learned from no text, a score is None. The trainer may return a few pieces too many: the least likely are dropped,
    but never a byte.
    """
    scores = {piece: score or 0.0 for piece, score in pieces}
    floor = min(scores.values())
    useless = floor + 0.0001 * (len(BYTES) + 1)
    ranked = [(p, round(floor if len(p) == 1 and score < useless else score, 6)) for p, score in scores.items()]
    ranked.sort(key=lambda entry: (len(entry[0]) > 1, -entry[1], entry[0]))
    return sorted(ranked[:number], key=lambda entry: (-entry[1], entry[0]))


def learn_char(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """Learn the most frequent characters; any other is spelled by the bytes of its UTF-8."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    tokens = [*SPECIALS, *BYTES]
    tokens += most_frequent(counts, vocab_size - len(tokens))
    vocabulary = {token: index for index, token in enumerate(tokens)}
    engine = tokenizers.Tokenizer(models.BPE(vocabulary, [], unk_token=SPECIALS[UNK], byte_fallback=True))
    engine.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    return engine


def learn_word(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """Learn the most frequent words. Each carries a mark in front, so that the word "</s>" is not the token </s>."""
    counts: Counter[str] = Counter()
    engine = tokenizers.Tokenizer(models.WordLevel({}, unk_token=SPECIALS[UNK]))
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(BLANK, prepend_scheme="always", split=False)]
    )
    for text in texts:
        counts.update(word for word, _ in engine.pre_tokenizer.pre_tokenize_str(text))
    tokens = [*SPECIALS, *most_frequent(counts, vocab_size - len(SPECIALS))]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    engine.model = models.WordLevel(vocabulary, unk_token=SPECIALS[UNK])
    engine.decoder = decoders.Sequence(
        [decoders.Replace(Regex(f"^{BLANK}"), " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return engine


def byte_level(model: models.Model) -> tokenizers.Tokenizer:
    engine = tokenizers.Tokenizer(model)
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    engine.decoder = decoders.ByteLevel()
    return engine


def most_frequent(counts: Counter[str], number: int) -> list[str]:
    """Return the most frequent tokens; ties in alphabetical order, so that the order of the file is irrelevant."""
    return sorted(counts, key=lambda token: (-counts[token], token))[:number]


LEARNERS = {"bpe": learn_bpe, "unigram": learn_unigram, "char": learn_char, "word": learn_word}
