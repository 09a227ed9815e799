"""A sentencepiece tokenizer that came with a Marian-type model, used as it came; only its ids are numbered anew.

One file holds the sentencepiece model and the vocabulary, which both sides share: pieces in the order of our ids.
A text may begin with >>fr<<, the language that some models are asked for.
"""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from seqloom.errors import ModelError
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import SPECIALS, UNK

KIND = "sentencepiece"
LANGUAGE = re.compile(r"\s*(>>[^<>\s]+<<)")


class SentencePieceTokenizer(Tokenizer):
    """`vocabulary`: every piece by our id, the four special ones first."""

    def __init__(self, model: bytes, vocabulary: Sequence[str]) -> None:
        import sentencepiece

        self.kind, self.vocabulary = KIND, list(vocabulary)
        if tuple(self.vocabulary[: len(SPECIALS)]) != SPECIALS:
            raise ModelError(f"a vocabulary that does not begin with {' '.join(SPECIALS)}")
        self.ids = {piece: index for index, piece in enumerate(self.vocabulary)}
        self.processor: Any = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise ModelError(f"not a sentencepiece model, or a damaged one: {error}") from None
        self.content = json.dumps(
            {KIND: base64.b64encode(model).decode(), "vocabulary": self.vocabulary}, ensure_ascii=False
        )

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        found = []
        for text in texts:
            code, rest = self.split_language(text)
            pieces = self.processor.encode_as_pieces(rest)
            # text never becomes a special token
            ids = [index if (index := self.ids.get(piece, UNK)) > UNK else UNK for piece in pieces]
            found.append([self.ids[code], *ids] if code else ids)
        return found

    def spans_batch(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        found = []
        for text in texts:
            code, rest = self.split_language(text)
            first = len(text) - len(rest)
            pieces = self.processor.encode(rest, return_type="proto").pieces
            found.append([(0, first)] * bool(code) + [(first + piece.begin, first + piece.end) for piece in pieces])
        return found

    def split_language(self, text: str) -> tuple[str, str]:
        """The code at the beginning, where it is one of the vocabulary, and the rest."""
        match = LANGUAGE.match(text)
        return (match[1], text[match.end() :]) if match is not None and match[1] in self.ids else ("", text)

    def decode(self, ids: Iterable[int]) -> str:
        return str(self.processor.decode([self.vocabulary[index] for index in ids if index > UNK]))

    def _piece(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise ModelError(f"token id {index} is outside the vocabulary of {len(self)} tokens")
        return self.vocabulary[index]

    def tokens(self) -> list[str]:
        return list(self.vocabulary)

    def __len__(self) -> int:
        return len(self.vocabulary)

    @classmethod
    def from_content(cls, content: str) -> "SentencePieceTokenizer":
        parts = json.loads(content)
        return cls(base64.b64decode(parts[KIND]), parts["vocabulary"])
