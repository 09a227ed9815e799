"""Tokenizers: text <-> token ids. A thin layer over the `tokenizers` library.

    bpe, unigram   text -> words -> bytes -> subwords              lossless: every text can be encoded
    char           one token per character; rare ones as bytes     lossless
    word           one token per word between spaces               rare words become <unk>

Text never becomes a special token: "</s>" in the data is four ordinary characters.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import tokenizers

from seqloom.errors import ModelError
from seqloom.files.durable import replace_file
from seqloom.text.vocabulary import EOS, UNK

BLANK = "▁"  # a space as shown to people; also marks the beginning of each word in a `word` vocabulary
VISIBLE = str.maketrans({" ": BLANK, "\n": "↵", "\t": "⇥"})


@contextmanager
def no_panic() -> Iterator[None]:
    """Turn the library's errors into a ModelError: bare Exceptions, and PanicException, which is not an Exception."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the tokenizer of this model is damaged: its library failed ({error})") from None


class Tokenizer:
    """Text -> ids -> text, with a learned or loaded vocabulary."""

    def __init__(self, engine: tokenizers.Tokenizer) -> None:
        engine.no_padding()
        engine.no_truncation()
        self.content = engine.to_str(pretty=True)
        self.kind = kind_of(self.content)
        engine.encode_special_tokens = True  # "<pad>" in a text is text; the file format does not store this
        self.engine = engine

    def encode(self, text: str) -> list[int]:
        """The ids of one text, without start and end token (BOS, EOS)."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, computed on all cores."""
        with no_panic():
            return [row.ids for row in self.engine.encode_batch_fast(texts, add_special_tokens=False)]

    def spans_batch(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The characters that each piece covers (first, last + 1); byte pieces of one character all cover it."""
        with no_panic():
            return [row.offsets for row in self.engine.encode_batch(texts, add_special_tokens=False)]

    def split_language(self, text: str) -> tuple[str, str]:
        """The language code at the beginning of the text, for models that need one, and the rest of the text."""
        return "", text

    @property
    def line_end(self) -> int:
        """The id that separates the lines of running text."""
        return EOS

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids; special tokens are dropped, invalid UTF-8 becomes U+FFFD."""
        with no_panic():
            return self.engine.decode([index for index in ids if index > UNK], skip_special_tokens=False)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id in readable form: a space is "▁", a byte of an incomplete character is <0xNN>."""
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
        """Every token by id, as spelled in the file."""
        return [self.engine.id_to_token(index) or "" for index in range(len(self))]

    def __len__(self) -> int:
        return self.engine.get_vocab_size()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content: equal fingerprints mean equal ids."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    def save(self, file: Path) -> None:
        """Write the tokenizer as JSON, atomically."""
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, self.content)


def kind_of(content: str) -> str:
    """The kind of a tokenizer (bpe, unigram, char or word), from its JSON."""
    model = json.loads(content)["model"]
    if model["type"] == "BPE":
        return "char" if model["byte_fallback"] else "bpe"
    kinds = {"Unigram": "unigram", "WordLevel": "word"}
    if model["type"] not in kinds:
        raise ModelError(f"a {model['type']} tokenizer is not supported; want bpe, unigram, char or word")
    return kinds[model["type"]]


def byte_letters() -> dict[str, int]:
    """The letter that byte-level tokenizers write for each byte -> the byte.

    Printable Latin-1 characters stand for themselves; the other bytes use the letters from U+0100 on (GPT-2, 2019).
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + n): byte for n, byte in enumerate(hidden)}


BYTE_OF = byte_letters()


def readable(spelled: bytes) -> str:
    """Decode UTF-8, with each byte of an incomplete character as <0xNN>."""
    text = spelled.decode("utf-8", errors="surrogateescape")
    return "".join(f"<0x{ord(char) - 0xDC00:02X}>" if 0xDC80 <= ord(char) <= 0xDCFF else char for char in text)
