"""Which tokenizer files are accepted: those that Seqloom writes itself; the parts of imported ones: public_parts.py.

A tokenizer file is a small program. A normalizer `a -> aa` thirty times makes a gigabyte of one letter, a regular
expression can run without end, and an id of 10^9 makes a table of that size. So its numbers are checked before the
library reads it, and its parts before any text is given to it.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tokenizers import models

from seqloom.errors import ModelError
from seqloom.files.reading import parse_json
from seqloom.text.learn import BYTES, add_specials, byte_level, learn_char, learn_word
from seqloom.text.tokenizer import BYTE_OF
from seqloom.text.vocabulary import SPECIALS, UNK

LONGEST_TOKEN = 2**14  # characters; an output has hundreds of tokens
MOST_IDS = 2**22
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def check_vocabulary(parts: Any, gaps: bool = False) -> None:
    """Check the ids and the tokens of a file before the library reads it. gaps: ids may be left out."""
    model = parts.get("model") if isinstance(parts, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, list) and all(isinstance(piece, list) and len(piece) == 2 for piece in vocab):
        vocab = {piece: index for index, (piece, _) in enumerate(vocab) if isinstance(piece, str)}
    if not isinstance(vocab, dict):
        raise ModelError("it has no vocabulary")
    added = parts.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        raise ModelError("added_tokens: want a list of tokens")
    vocab = vocab | {str(token.get("content")): token.get("id") for token in added}
    if not all(type(index) is int and 0 <= index < MOST_IDS for index in vocab.values()):
        raise ModelError(f"its ids are not all whole numbers from 0 to {MOST_IDS:,}")
    if not gaps and {*vocab.values()} != {*range(len(vocab))}:
        raise ModelError(f"its ids are not 0 to {len(vocab) - 1:,}, each once")
    if "" in vocab or max(map(len, vocab), default=0) > LONGEST_TOKEN:
        raise ModelError(f"a token is empty or has more than {LONGEST_TOKEN:,} characters")


def check_own_shape(content: str) -> None:
    """Refuse a tokenizer that differs from those that Seqloom learns in anything but its vocabulary."""
    if shape_of(content) not in own_shapes():
        raise ModelError("its parts are not those of a tokenizer that Seqloom learns")


def check_spelling(kind: str, tokens: Sequence[str]) -> None:
    """Check that every token is spelled as this kind spells its tokens: by letters for bytes, or one character."""
    if kind == "word":
        return
    words = tokens[len(SPECIALS) :]
    every_byte = {*BYTES} if kind == "char" else BYTE_OF.keys()
    if kind == "char":
        strange = [token for token in words if len(token) != 1 and token not in every_byte]
    else:
        strange = [token for token in words if not every_byte >= {*token}]
    if strange:
        raise ModelError(f"the token {strange[0][:20]!r} is not one of a {kind} tokenizer")
    if not every_byte <= {*words}:
        raise ModelError(f"a {kind} tokenizer has a token for every byte, and this one lacks some")


@cache
def own_shapes() -> list[dict[str, Any]]:
    """The shapes of the four kinds of tokenizers that Seqloom learns."""
    unigram = models.Unigram([(token, 0.0) for token in SPECIALS], unk_id=UNK)
    engines = [byte_level(models.BPE()), byte_level(unigram), learn_char([], len(SPECIALS) + 256), learn_word([], 5)]
    for engine in engines:
        add_specials(engine)
    return [shape_of(engine.to_str()) for engine in engines]


def shape_of(content: str) -> dict[str, Any]:
    """All of a tokenizer's file except its vocabulary."""
    parts = parse_json(content)
    model = {name: value for name, value in parts["model"].items() if name not in ("vocab", "merges")}
    return {**{name: parts[name] for name in ("added_tokens", *PARTS)}, "model": model}
