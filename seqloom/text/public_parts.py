"""Which parts an imported tokenizer may have: those of public models that neither run without end nor make texts long.

A part that replaces or splits by an expression is known by that expression: any other could take exponential time.
"""

from collections.abc import Callable, Mapping
from typing import Any

from seqloom.errors import ModelError
from seqloom.text.charsmap import check_charsmap
from seqloom.text.learn import WORDS

LONGEST_WORD = 1000  # characters that a WordPiece model looks at: its time grows with the square
LONGEST_MARK = 16  # characters of the mark of a piece inside a word, such as ##
MOST_PARTS = 16  # in a sequence
MODELS = ("WordPiece", "BPE", "WordLevel", "Unigram")
SEVERAL = {
    "normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors",
    "decoder": "decoders",
}  # fmt: skip
SHORTENING = {" {2,}", r"\s+", r"\s{2,}"}  # several blanks become one, in many public tokenizers
ENDINGS = "'s|'t|'re|'ve|'m|'ll|'d"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
WORD_EXPRESSIONS = {
    WORDS,
    rf"{ENDINGS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+",  # GPT-2
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # the same, shorter
    *(  # Llama 3 and GPT-4; Qwen 2
        rf"(?i:{ENDINGS})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        for digits in (r"\p{N}{1,3}", r"\p{N}")
    ),
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:{ENDINGS})?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:{ENDINGS})?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",  # GPT-4o
    rf"{ENDINGS}|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+",  # CLIP
    " ?[^(\\s|[.,!?…。，、।۔،])]+",  # BLOOM
}
Part = Mapping[str, Any]


def check_known_parts(parts: Part) -> None:
    """Refuse an imported tokenizer with a part that no supported public model has."""
    for name, known in KNOWN.items():
        for part in one_by_one(name, parts.get(name)):
            kind = part.get("type") if isinstance(part, dict) else part
            if not isinstance(kind, str) or kind not in known:
                raise ModelError(f"{name} {str(kind)[:40]!r}: Seqloom knows {', '.join(sorted(known))}")
            fits = known[kind]
            if fits and not fits(part):
                raise ModelError(
                    f"{name} {kind!r}: it would make texts longer, or cuts them by a pattern that Seqloom does not know"
                )
    check_model(parts["model"])


def check_model(model: Part) -> None:
    if model.get("type", "BPE") not in MODELS:
        raise ModelError(f"model {str(model.get('type'))[:40]!r}: Seqloom knows {', '.join(MODELS)}")
    longest = model.get("max_input_chars_per_word", 0)
    if model.get("dropout") or type(longest) is not int or longest > LONGEST_WORD:
        raise ModelError(f"its model has dropout, or reads words of more than {LONGEST_WORD:,} characters")
    marks = [model.get(name) or "" for name in ("continuing_subword_prefix", "end_of_word_suffix")]
    if not all(isinstance(mark, str) and len(mark) <= LONGEST_MARK for mark in marks):
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


def pattern_of(part: Part) -> tuple[str, str]:
    """Return the text or the expression (the other is empty) that a part looks for."""
    pattern = part.get("pattern")
    found = pattern if isinstance(pattern, dict) and len(pattern) == 1 else {}
    text, expression = found.get("String", ""), found.get("Regex", "")
    return (text, expression) if isinstance(text, str) and isinstance(expression, str) else ("", "")


def shortens(part: Part) -> bool:
    """Whether a replacement is no longer than what it replaces."""
    (text, expression), content = pattern_of(part), part.get("content")
    if not isinstance(content, str):
        return False
    return len(content) <= (1 if expression in SHORTENING else len(text) if text else -1)


def splits_words(part: Part) -> bool:
    text, expression = pattern_of(part)
    return bool(text) or expression in WORD_EXPRESSIONS


def has_one_text(part: Part) -> bool:
    """Whether a template has its text once, and not a thousand times."""
    single = part.get("single")
    return isinstance(single, list) and sum(isinstance(piece, dict) and "Sequence" in piece for piece in single) == 1


def is_short_mark(part: Part) -> bool:
    mark = part.get("prepend")
    return isinstance(mark, str) and 1 <= len(mark) <= LONGEST_MARK


def strips_one_blank(part: Part) -> bool:
    """Whether a decoder strips at most one character, at the beginning; the library fails on short texts otherwise."""
    content = part.get("content")
    return isinstance(content, str) and len(content) == 1 and part.get("start") in (0, 1) and part.get("stop") == 0


def has_good_table(part: Part) -> bool:
    check_charsmap(part.get("precompiled_charsmap"))
    return True


# The kinds of each part, and what is checked of those that hold more than switches.
KNOWN: dict[str, dict[str, Callable[[Part], bool] | None]] = {
    "normalizer": {
        **dict.fromkeys(("BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "Strip", "StripAccents")),
        "Replace": shortens, "Prepend": is_short_mark, "Precompiled": has_good_table,
    },
    "pre_tokenizer": {
        **dict.fromkeys(("BertPreTokenizer", "ByteLevel", "Whitespace", "WhitespaceSplit", "Digits", "Punctuation")),
        "Metaspace": None, "Split": splits_words,
    },
    "post_processor": {
        **dict.fromkeys(("BertProcessing", "RobertaProcessing", "ByteLevel")), "TemplateProcessing": has_one_text,
    },
    "decoder": {
        **dict.fromkeys(("WordPiece", "ByteLevel", "ByteFallback", "Metaspace", "Fuse")),
        "Replace": shortens, "Strip": strips_one_blank,
    },
}  # fmt: skip
