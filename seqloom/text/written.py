"""Streaming decoder: turns tokens into text as they are generated, and returns only complete characters.

A character may consist of several tokens (its UTF-8 bytes), and the text of a token may depend on the previous one (the
space between two words). So each token is decoded together with those returned last.
"""

from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import EOS

BROKEN = "\N{REPLACEMENT CHARACTER}"  # the result of decoding an incomplete or invalid character
LONGEST = 4  # bytes of a character at most: more bytes than that are invalid, not incomplete


class WrittenText:
    """Streaming decoder: `add(token)` returns the text that is complete, often ""; `end()` returns the rest.

    EOS becomes a newline.
    """

    def __init__(self, tokenizer: Tokenizer, before: list[int] | None = None) -> None:
        """`before`: tokens of the same line that were already shown."""
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
        """The text that the waiting tokens add to the shown ones."""
        before = self.tokenizer.decode(self.shown)
        return self.tokenizer.decode(self.shown + self.waiting)[len(before) :]
