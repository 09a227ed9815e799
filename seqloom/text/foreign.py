"""Tokenizer imported with a public model (Hugging Face), used unchanged; only its ids are renumbered.

    theirs   [PAD] 0 ... [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103 ...
    ours     <pad> 0, <s> 1, </s> 2, <unk> 3, then all other tokens in their order

So our <s> x </s> is their [CLS] x [SEP], and our <unk>, which also marks masked words, is their [MASK]. A special token
that their tokenizer lacks still has an id, and a row of zeros in the imported embedding table. One of their tokens may
stand for two of ours.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import tokenizers

from seqloom.errors import ModelError
from seqloom.files.reading import parse_json
from seqloom.text.public_parts import check_known_parts
from seqloom.text.shapes import check_vocabulary
from seqloom.text.tokenizer import BLANK, VISIBLE, Tokenizer, no_panic
from seqloom.text.vocabulary import EOS, SPECIALS, UNK

KIND = "foreign"
MISSING = -1  # their id of a special token that their tokenizer lacks


class ForeignTokenizer(Tokenizer):
    """Imported tokenizer with our ids; `specials`: their tokens for <pad>, <s>, </s> and <unk>, None = they have none.

    `content` is the content of the file, if there is one. It is kept and not serialised again: for ids with gaps, some
    versions of the library then print a warning to standard output, among the translations.
    """

    def __init__(self, engine: tokenizers.Tokenizer, specials: Sequence[str | None], content: str = "") -> None:
        engine.no_padding()
        engine.no_truncation()  # the library truncates silently; we cut or report texts that are too long
        engine.encode_special_tokens = True  # "[SEP]" in a text is text; the file format does not store this
        self.engine = engine
        self.kind = KIND
        self.specials = tuple(specials)
        self.content = content or json.dumps(
            {KIND: self.specials, "tokenizer": json.loads(engine.to_str())}, ensure_ascii=False
        )
        self.theirs = self.renumber()  # theirs[our id] = their id
        self.ours = {their: our for our, their in reversed([*enumerate(self.theirs)])}

    def renumber(self) -> list[int]:
        """Their ids in the order of ours: the special tokens first."""
        found = [MISSING if token is None else self.engine.token_to_id(token) for token in self.specials]
        known = [their for their in found if their is not None]
        if len(known) != len(SPECIALS):
            raise ModelError(
                f"special tokens {list(self.specials)}: want {len(SPECIALS)} that the tokenizer's vocabulary has"
            )
        rest = set(self.engine.get_vocab().values()) - set(known)  # their ids may have gaps
        return [*known, *sorted(rest)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        rows = super().encode_batch(texts)
        return [[self.ours[their] for their in row] for row in rows]

    @property
    def line_end(self) -> int:
        """The id of their newline token, if they have one: for their model </s> is the end of the whole text."""
        found = self.encode("\n")
        return found[0] if len(found) == 1 and self.decode(found) == "\n" else EOS

    def decode(self, ids: Iterable[int]) -> str:
        with no_panic():
            return self.engine.decode([self.theirs[index] for index in ids if index > UNK], skip_special_tokens=False)

    def _piece(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise ModelError(f"token id {index} is outside the vocabulary of {len(self)} tokens")
        if index <= UNK:
            return SPECIALS[index]
        token = self.engine.id_to_token(self.theirs[index])
        return (token or "").replace("Ġ", BLANK).translate(VISIBLE)

    def tokens(self) -> list[str]:
        """Every token by id; special tokens by our names, because one of theirs may stand for two of ours."""
        return [*SPECIALS, *(self.engine.id_to_token(their) or "" for their in self.theirs[len(SPECIALS) :])]

    def __len__(self) -> int:
        return len(self.theirs)

    @classmethod
    def from_content(cls, content: str) -> "ForeignTokenizer":
        parts = parse_json(content)
        return cls(open_public(parts["tokenizer"]), parts[KIND], content)


def open_public(parts: Any) -> tokenizers.Tokenizer:
    """Open the JSON of a public tokenizer if all of its parts are known."""
    check_vocabulary(parts, gaps=True)
    check_known_parts(parts)
    with no_panic():
        return tokenizers.Tokenizer.from_str(json.dumps(parts))
