"""Text as it is written, token after token: only whole characters come out, and each of them once.

A character may be spelled by several tokens (the bytes of its UTF-8), and how a token reads may depend on the one
before it (the blank between two words). So each token is decoded together with the ones that came out last.
"""

from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import EOS

BROKEN = "\N{REPLACEMENT CHARACTER}"  # what decoding makes of bytes that are no character, or not yet
LONGEST = 4  # bytes of a character: more of them will never become one


class WrittenText:
    """`add(token)` -> what can be shown now, often nothing; EOS is a line end; `end()` -> the rest."""

    def __init__(self, tokenizer: Tokenizer, before: list[int] | None = None) -> None:
        """`before`: tokens of the same line that were shown already."""
        self.tokenizer = tokenizer
        self.shown, self.waiting = before or [], list[int]()

    def add(self, token: int) -> str:
        if token == EOS:
            text = self.end() + "\n"
            self.shown = []
            return text
        self.waiting.append(token)
        text = self.read()
        if not text or (text.endswith(BROKEN) and len(self.waiting) < LONGEST):
            return ""
        self.shown, self.waiting = self.waiting, []
        return text

    def end(self) -> str:
        text = self.read()
        self.shown, self.waiting = self.shown + self.waiting, []
        return text

    def read(self) -> str:
        """What the waiting tokens add to those before them."""
        before = self.tokenizer.decode(self.shown)
        return self.tokenizer.decode(self.shown + self.waiting)[len(before) :]
