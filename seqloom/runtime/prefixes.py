"""What an output must begin with: from a text to the tokens that search is forced to write."""

from collections.abc import Sequence

from seqloom.errors import UsageError
from seqloom.runtime.inputs import encode_texts
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import UNK

PrefixTexts = str | Sequence[str] | None  # one for all outputs, or one a text; an empty one of several forces nothing


class PrefixError(UsageError):
    """No output can begin like this; the message begins with the line of the prefix, where there are several."""


def encode_prefixes(
    prefixes: PrefixTexts, tokenizer: Tokenizer, normalise: str, lines: Sequence[int]
) -> list[list[int]]:
    """The ids of the prefix of each line."""
    if prefixes is None:
        return [[] for _ in lines]
    if isinstance(prefixes, str):
        ids = encode_prefix(prefixes, tokenizer, normalise)
        if not ids:
            raise PrefixError("the prefix is empty: give a text that every output shall begin with, or none")
        return [ids for _ in lines]
    if len(prefixes) != len(lines):
        raise PrefixError(f"{len(prefixes)} prefixes for {len(lines)} texts: want one a text, empty where it is free")
    found = []
    for line, prefix in zip(lines, prefixes, strict=True):
        try:
            found.append(encode_prefix(prefix, tokenizer, normalise))
        except PrefixError as error:
            raise PrefixError(f"line {line}: {error}") from None
    return found


def encode_prefix(prefix: str, tokenizer: Tokenizer, normalise: str) -> list[int]:
    if tokenizer.kind != "char":
        prefix = prefix.rstrip()  # the space is a part of the word that follows
    try:
        ids = encode_texts([prefix], tokenizer, normalise)[0]
    except UsageError as error:  # no text at all: it has said why, of line 1
        raise PrefixError(f"the prefix is no text: {str(error).removeprefix('line 1: ')}") from None
    if UNK in ids:
        unknown = [word for word in prefix.split() if UNK in encode_texts([word], tokenizer, normalise)[0]]
        raise PrefixError(
            f"the prefix {prefix!r} cannot be written: {', '.join(map(repr, unknown))} not among the "
            f"{len(tokenizer):,} words that this model knows. Use other words, or a model with tokenizer bpe or char."
        )
    return ids


def check_room(line: int, prefix: Sequence[int], limit: int) -> None:
    if len(prefix) >= limit:
        raise PrefixError(
            f"line {line}: the prefix has {len(prefix)} tokens, but an output for this source is cut at {limit}. "
            "Shorten the prefix."
        )
