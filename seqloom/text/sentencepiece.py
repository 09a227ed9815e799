"""Sentencepiece tokenizer imported with a Marian model, used unchanged; only its ids are renumbered.

One file holds the sentencepiece model and the vocabulary, which source and target share: pieces in the order of our
ids. A text may begin with a target language code such as >>fr<<, which multilingual models need.
"""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from seqloom.errors import ModelError
from seqloom.files.reading import parse_json
from seqloom.text.shapes import LONGEST_TOKEN
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import SPECIALS, UNK

KIND = "sentencepiece"
LANGUAGE = re.compile(r"\s*(>>[^<>\s]+<<)")


class SentencePieceTokenizer(Tokenizer):
    """Imported sentencepiece tokenizer with our ids; `vocabulary`: every piece by our id, special tokens first."""

    def __init__(self, model: bytes, vocabulary: Sequence[str]) -> None:
        import sentencepiece

        self.kind, self.vocabulary = KIND, list(vocabulary)
        if not all(isinstance(piece, str) and len(piece) <= LONGEST_TOKEN for piece in self.vocabulary):
            raise ModelError(f"the vocabulary is not a list of texts of at most {LONGEST_TOKEN:,} characters")
        if tuple(self.vocabulary[: len(SPECIALS)]) != SPECIALS:
            raise ModelError(f"the vocabulary does not begin with {' '.join(SPECIALS)}")
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
            # a text never gives a special token
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
        """The language code at the beginning, if the vocabulary has it, and the rest of the text."""
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
        parts = parse_json(content)
        return cls(base64.b64decode(parts[KIND]), parts["vocabulary"])
