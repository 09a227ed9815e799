"""Lines with more than data.max_tokens tokens: plain text is cut between words; of other data at most 5 % may be lost.

The doctor cannot find them, because it knows no tokens: its rule on loss is applied here, once the tokens are known.
"""

from collections.abc import Sequence

from seqloom.data.account import Account
from seqloom.data.findings import MAX_LOSS
from seqloom.data.table_readers import Pair
from seqloom.errors import DataError
from seqloom.text.tags import cut_at_words, words_of_pieces
from seqloom.text.tokenizer import Tokenizer

TOO_LONG, UNKNOWN = "too many tokens", "unknown label"


def cut_long(
    pairs: Sequence[Pair], ids: Sequence[list[int]], tokenizer: Tokenizer, most: int
) -> tuple[list[Pair], list[list[int]]]:
    """Return texts without a target and their ids; long texts in parts, of which nothing is lost."""
    parts: list[tuple[Pair, list[int]]] = []
    for pair, own in zip(pairs, ids, strict=True):
        parts += [(pair, own)] if len(own) <= most else cut_one(pair, own, tokenizer, most)
    return [part for part, _ in parts], [own for _, own in parts]


def cut_one(pair: Pair, ids: list[int], tokenizer: Tokenizer, most: int) -> list[tuple[Pair, list[int]]]:
    """Cut one text into parts, each with its line number; parts of blanks only are left out."""
    spans = tokenizer.spans_batch([pair.source])[0]
    places = cut_at_words(words_of_pieces(pair.source, spans), most)
    begins = [0, *(spans[place.start][0] for place in places[1:])]
    texts = [pair.source[begin:end].strip() for begin, end in zip(begins, [*begins[1:], None], strict=True)]
    return [
        (Pair(pair.line, text, pair.targets), ids[place]) for text, place in zip(texts, places, strict=True) if text
    ]


def refuse_long(name: str, account: Account, most: int, longest: int, allow_loss: bool) -> None:
    """Raise a DataError for more than 5 % unusable lines, as the doctor does; unknown labels do not count here."""
    lost = account.total - account.kept - account.excluded.get(UNKNOWN, 0)
    if TOO_LONG not in account.excluded or allow_loss or lost <= MAX_LOSS * account.total:
        return
    raise DataError(
        f"{name}: {lost / account.total:.1%} of the lines cannot be used; {MAX_LOSS:.0%} may be lost.\n"
        f"{account.render()}\n{advise(account, most, longest)}"
    )


def advise(account: Account, most: int, longest: int) -> str:
    """Return the advice for lines that are too long; empty when there are none."""
    if TOO_LONG not in account.excluded:
        return ""
    loss = ", or accept the loss with --allow-loss" if account.kept else ""
    return (
        f"{account.excluded[TOO_LONG]:,} of {account.total:,} lines have more than data.max_tokens = {most} tokens on "
        f"a side, the longest {longest:,}. Raise it (--set data.max_tokens={longest}) or split these lines{loss}."
    )
