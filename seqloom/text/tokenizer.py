"""Strings <-> ids. A thin face over the `tokenizers` library; the kind of tokenizer is told from its model.

    bpe, unigram   text -> words -> bytes -> merged pieces     every text has a spelling: nothing is lost
    char           one token a character; rare ones as bytes   nothing is lost
    word           one token a word between blanks             rare words are <unk>

Text never becomes a special token: "</s>" in the data is four characters like any others.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers

from seqloom.errors import ModelError
from seqloom.text.vocabulary import EOS, SPECIALS, UNK

BLANK = "▁"  # how a view shows a space; also marks the begin of each word in a `word` vocabulary
VISIBLE = str.maketrans({" ": BLANK, "\n": "↵", "\t": "⇥"})


class Tokenizer:
    """text -> ids -> text, with a vocabulary that was learned or loaded."""

    def __init__(self, engine: tokenizers.Tokenizer) -> None:
        self.content = engine.to_str(pretty=True)
        self.kind = kind_of(self.content)
        engine.encode_special_tokens = True  # "<pad>" in a text is text; the file format does not store this
        self.engine = engine

    def encode(self, text: str) -> list[int]:
        """The ids of one text, without begin and end."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts in one call, on all cores."""
        return [row.ids for row in self.engine.encode_batch_fast(texts, add_special_tokens=False)]

    def spans_batch(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where each piece of a text stands in it, first and last + 1 character; parts of one character share it."""
        return [row.offsets for row in self.engine.encode_batch(texts, add_special_tokens=False)]

    def split_language(self, text: str) -> tuple[str, str]:
        """The code of a language that the text begins with, for models that are asked for one, and the rest."""
        return "", text

    @property
    def line_end(self) -> int:
        """The id that stands between the lines of running text."""
        return EOS

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids; special ones are dropped, broken UTF-8 becomes U+FFFD."""
        return self.engine.decode([index for index in ids if index > UNK], skip_special_tokens=False)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id as a person can read it: a space is "▁", a part of a character is <0xNN>."""
        return [self._piece(index) for index in ids]

    def _piece(self, index: int) -> str:
        token = self.engine.id_to_token(index)
        if token is None:
            raise ModelError(f"token id {index} is outside the vocabulary of {len(self)} tokens")
        if index <= UNK or self.kind == "word":
            return token
        if self.kind == "char":
            spelled = bytes([int(token[3:5], 16)]) if len(token) > 1 else token.encode()
        else:
            spelled = bytes(BYTE_OF[letter] for letter in token)
        return readable(spelled).translate(VISIBLE)

    def tokens(self) -> list[str]:
        """Every token as the file spells it, by id."""
        return [self.engine.id_to_token(index) or "" for index in range(len(self))]

    def __len__(self) -> int:
        return self.engine.get_vocab_size()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content: equal fingerprints, equal ids."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    def save(self, file: Path) -> None:
        """Write the tokenizer as JSON; whole or not at all."""
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(file.name + ".part")
        part.write_text(self.content, encoding="utf-8", newline="\n")
        part.replace(file)

    @classmethod
    def load(cls, file: Path) -> "Tokenizer":
        try:
            content = file.read_text("utf-8")
            if content.startswith('{"foreign"'):
                from seqloom.text.foreign import ForeignTokenizer  # which is built on this class

                return ForeignTokenizer.from_content(content)
            if content.startswith('{"sentencepiece"'):
                from seqloom.text.sentencepiece import SentencePieceTokenizer

                return SentencePieceTokenizer.from_content(content)
            engine = tokenizers.Tokenizer.from_str(content)
        except FileNotFoundError:
            raise ModelError(f"{file}: no such tokenizer") from None
        except Exception as error:  # the library raises bare Exceptions
            raise ModelError(f"{file}: not a tokenizer, or a damaged one: {error}") from None
        if [engine.id_to_token(index) for index in range(len(SPECIALS))] != list(SPECIALS):
            raise ModelError(f"{file}: not a tokenizer of Seqloom: its first tokens are not {' '.join(SPECIALS)}")
        try:
            return cls(engine)
        except ModelError as error:
            raise ModelError(f"{file}: {error}") from None


def kind_of(content: str) -> str:
    """Which of the four a tokenizer is, from its JSON."""
    model = json.loads(content)["model"]
    if model["type"] == "BPE":
        return "char" if model["byte_fallback"] else "bpe"
    kinds = {"Unigram": "unigram", "WordLevel": "word"}
    if model["type"] not in kinds:
        raise ModelError(f"a {model['type']} tokenizer, which Seqloom does not know; want bpe, unigram, char or word")
    return kinds[model["type"]]


def byte_letters() -> dict[str, int]:
    """The letter that byte-level tokenizers write for each byte, and the byte it stands for.

    Printable Latin-1 stands for itself; the other bytes take the letters from U+0100 on, in order (GPT-2, 2019).
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + n): byte for n, byte in enumerate(hidden)}


BYTE_OF = byte_letters()


def readable(spelled: bytes) -> str:
    """UTF-8 as text, with each byte that is no whole character as <0xNN>."""
    text = spelled.decode("utf-8", errors="surrogateescape")
    return "".join(f"<0x{ord(char) - 0xDC00:02X}>" if 0xDC80 <= ord(char) <= 0xDCFF else char for char in text)
