"""Prefixes: texts that outputs must begin with, as the tokens that the search is forced to write."""

from collections.abc import Sequence

from seqloom.errors import UsageError
from seqloom.runtime.inputs import encode_texts
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import UNK

PrefixTexts = str | Sequence[str] | None  # one for all outputs, or one per text; an empty one forces nothing


class PrefixError(UsageError):
    """No output can begin with this prefix; if there are several, the message names the line."""


def encode_prefixes(
    prefixes: PrefixTexts, tokenizer: Tokenizer, normalise: str, lines: Sequence[int]
) -> list[list[int]]:
    """The ids of the prefix of each line."""
    if prefixes is None:
        return [[] for _ in lines]
    if isinstance(prefixes, str):
        ids = encode_prefix(prefixes, tokenizer, normalise)
        if not ids:
            raise PrefixError("the prefix is empty: give a text that every output must begin with, or no prefix")
        return [ids for _ in lines]
    if len(prefixes) != len(lines):
        raise PrefixError(
            f"{len(prefixes)} prefixes for {len(lines)} texts: want one per text; an empty one forces nothing"
        )
    found = []
    for line, prefix in zip(lines, prefixes, strict=True):
        try:
            found.append(encode_prefix(prefix, tokenizer, normalise))
        except PrefixError as error:
            raise PrefixError(f"line {line}: {error}") from None
    return found


def encode_prefix(prefix: str, tokenizer: Tokenizer, normalise: str) -> list[int]:
    if tokenizer.kind != "char":
        prefix = prefix.rstrip()  # a space belongs to the word that follows
    try:
        ids = encode_texts([prefix], tokenizer, normalise)[0]
    except UsageError as error:  # not a text: the message names line 1
        raise PrefixError(f"the prefix is not a text: {str(error).removeprefix('line 1: ')}") from None
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
