"""Which tokenizer files are accepted: those that Seqloom writes itself, and the parts that imported ones are made of.

A tokenizer file is a small program. A normalizer `a -> aa` thirty times makes a gigabyte of one letter, a regular
expression can run without end, and an id of 10^9 makes a table of that size. So its numbers are checked before the
library reads it, and its parts before any text is given to it.
"""

from collections.abc import Mapping, Sequence
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
LONGEST_WORD = 1000  # characters that a WordPiece model looks at: its time grows with the square
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
# Parts of public tokenizers that neither make a text much longer nor hold an expression of their own.
KNOWN = {
    "normalizer": {"BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Replace"},
    "pre_tokenizer": {
        "BertPreTokenizer",
        "ByteLevel",
        "Whitespace",
        "WhitespaceSplit",
        "Digits",
        "Punctuation",
        "Metaspace",
    },
    "post_processor": {"TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"},
    "decoder": {"WordPiece", "ByteLevel", "Metaspace", "Replace", "Fuse"},
}
MODELS = ("WordPiece", "BPE", "WordLevel", "Unigram")
MOST_PARTS = 16  # in a sequence
LONGEST_MARK = 16  # characters of the mark of a piece inside a word, such as ##
SEVERAL = {
    "normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors",
    "decoder": "decoders",
}  # fmt: skip


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


def check_known_parts(parts: Mapping[str, Any]) -> None:
    """Refuse an imported tokenizer with a part that no supported public model has."""
    for name, known in KNOWN.items():
        for part in one_by_one(name, parts.get(name)):
            kind = part.get("type") if isinstance(part, dict) else part
            if not isinstance(kind, str) or kind not in known:
                raise ModelError(f"{name} {kind!r}: Seqloom knows {', '.join(sorted(known))}")
            if grows(part):
                raise ModelError(f"{name} {kind!r}: it would make texts longer, or its pattern is an expression")
    model = parts["model"]
    if model.get("type", "BPE") not in MODELS:
        raise ModelError(f"model {model.get('type')!r}: Seqloom knows {', '.join(MODELS)}")
    longest = model.get("max_input_chars_per_word", 0)
    if model.get("dropout") or type(longest) is not int or longest > LONGEST_WORD:
        raise ModelError(f"its model has dropout, or reads words of more than {LONGEST_WORD:,} characters")
    marks = [model.get(name) or "" for name in ("continuing_subword_prefix", "end_of_word_suffix")]
    if max(map(len, marks)) > LONGEST_MARK:
        raise ModelError(f"its model marks pieces with more than {LONGEST_MARK} characters")


def one_by_one(name: str, part: Any) -> list[Any]:
    """The parts of a sequence; a sequence in a sequence is not known."""
    if part is None:
        return []
    if not isinstance(part, dict) or part.get("type") != "Sequence":
        return [part]
    found = part.get(SEVERAL[name])
    if not isinstance(found, list) or len(found) > MOST_PARTS:
        raise ModelError(f"{name}: a sequence of more than {MOST_PARTS} parts, or of none")
    return found


def grows(part: Mapping[str, Any]) -> bool:
    """Whether a part of a known kind may make a text longer: one that replaces, or a template with the text twice."""
    if part["type"] == "Replace":
        pattern, content = part.get("pattern"), part.get("content")
        if not isinstance(pattern, dict) or not isinstance(content, str):
            return True
        if pattern == {"Regex": " {2,}"}:  # several blanks become one, in many public tokenizers
            return len(content) > 1
        old = pattern.get("String")
        return not isinstance(old, str) or not old or len(content) > len(old)
    if part["type"] == "TemplateProcessing":
        single = part.get("single")
        return not isinstance(single, list) or sum("Sequence" in piece for piece in single) != 1
    return False


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
