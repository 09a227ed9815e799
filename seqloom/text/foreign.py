"""A tokenizer that came with a model from elsewhere, used as it came; only its ids are numbered anew.

    theirs   [PAD] 0 ... [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103 ...
    ours     <pad> 0, <s> 1, </s> 2, <unk> 3, then all others in their order

So <s> x </s> is their [CLS] x [SEP], and what is hidden from a model (<unk>) is their [MASK]. A special token that they
lack has an id all the same, and a row of zeros in the imported table; one of theirs may stand for two of ours.
"""

import json
from collections.abc import Iterable, Sequence

import tokenizers

from seqloom.errors import ModelError
from seqloom.text.tokenizer import BLANK, VISIBLE, Tokenizer
from seqloom.text.vocabulary import EOS, SPECIALS, UNK

KIND = "foreign"
NOBODY = -1  # a special token of ours that they lack


class ForeignTokenizer(Tokenizer):
    """`specials`: which of their tokens stands for <pad>, <s>, </s> and <unk>; None = none does.

    `content` is what the file held, where there is one. It is not written anew: of ids with gaps some versions of the
    library then say on standard output, among the translations, that they might be damaged.
    """

    def __init__(self, engine: tokenizers.Tokenizer, specials: Sequence[str | None], content: str = "") -> None:
        engine.no_padding()
        engine.no_truncation()  # a text that is too long is cut or reported by us, in the open
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
        found = [NOBODY if token is None else self.engine.token_to_id(token) for token in self.specials]
        known = [their for their in found if their is not None]
        if len(known) != len(SPECIALS):
            raise ModelError(f"special tokens {list(self.specials)}: want {len(SPECIALS)} that the tokenizer has")
        rest = set(self.engine.get_vocab().values()) - set(known)  # not all up to the last: theirs may have gaps
        return [*known, *sorted(rest)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        rows = self.engine.encode_batch_fast(texts, add_special_tokens=False)
        return [[self.ours[their] for their in row.ids] for row in rows]

    @property
    def line_end(self) -> int:
        """Their own token for it, where they have one: to their model </s> is the end of the whole text."""
        found = self.encode("\n")
        return found[0] if len(found) == 1 and self.decode(found) == "\n" else EOS

    def decode(self, ids: Iterable[int]) -> str:
        return self.engine.decode([self.theirs[index] for index in ids if index > UNK], skip_special_tokens=False)

    def _piece(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise ModelError(f"token id {index} is outside the vocabulary of {len(self)} tokens")
        if index <= UNK:
            return SPECIALS[index]
        token = self.engine.id_to_token(self.theirs[index])
        return (token or "").replace("Ġ", BLANK).translate(VISIBLE)

    def tokens(self) -> list[str]:
        """Ours for the special ones, as theirs may stand for two."""
        return [*SPECIALS, *(self.engine.id_to_token(their) or "" for their in self.theirs[len(SPECIALS) :])]

    def __len__(self) -> int:
        return len(self.theirs)

    @classmethod
    def from_content(cls, content: str) -> "ForeignTokenizer":
        parts = json.loads(content)
        return cls(tokenizers.Tokenizer.from_str(json.dumps(parts["tokenizer"])), parts[KIND], content)
