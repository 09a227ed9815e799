"""A language model behind the server: it continues the prompts of several requests, one piece of each in turn.

One thread does the work, piece by piece: requests take turns, and one whose client is gone ends with its piece.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seqloom.serve.fair_queue import seat
from seqloom.serve.limits import Limits
from seqloom.serve.worker import OneThread

if TYPE_CHECKING:
    from seqloom.runtime.generator import End, Generator

MOST_OPEN = 16  # texts that one model continues at the same time
MOST_OPEN_EACH = 4  # of these, of one client


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a text is to be continued."""

    tokens: int
    temperature: float = 1.0  # 0 = the most probable token each time
    top_p: float = 1.0
    seed: int = 0
    stop: Sequence[str] = ()  # the text ends before one of these

    def options(self) -> dict[str, Any]:
        chosen = {"temperature": self.temperature} if self.temperature else {"top_k": 1}
        return {**chosen, "top_p": self.top_p, "seed": self.seed}


@dataclass(slots=True)
class Continuation:
    """A text while it grows, and how it ended."""

    text: str = ""
    tokens: int = 0
    finish: str = "length"


@dataclass(eq=False)
class Continuing:
    generator: "Generator"
    limits: Limits
    thread: OneThread = field(default_factory=lambda: OneThread("seqloom-generate"))
    open: Counter[str] = field(default_factory=Counter)  # by client

    async def pieces(self, prompt: str, sampling: Sampling, number: int, so_far: Continuation) -> AsyncIterator[str]:
        """The continuation of a prompt, as it is written; `so_far` has all of it and how it ended."""
        loop = asyncio.get_running_loop()
        until, cut = loop.time() + self.limits.deadline, Cut(sampling.stop)
        with seat(self.open, MOST_OPEN, MOST_OPEN_EACH, "texts are being continued"):
            steps = self.generator.stream(prompt, sampling.tokens, number=number, **sampling.options())
            while loop.time() < until:
                piece, end = await loop.run_in_executor(self.thread, next_piece, steps)
                so_far.tokens += piece is not None
                if end is not None:
                    so_far.tokens, so_far.finish = end.tokens, "stop" if end.by_itself else "length"
                shown = cut.rest() if piece is None else cut.add(piece)
                if shown:
                    so_far.text += shown
                    yield shown
                if cut.found:
                    so_far.finish = "stop"
                if cut.found or end is not None:
                    return

    @property
    def busy(self) -> bool:
        return self.thread.busy


def next_piece(steps: Iterator[str]) -> "tuple[str | None, End | None]":
    """The next piece of a text, or how the text ended."""
    try:
        return next(steps), None
    except StopIteration as stopped:
        return None, stopped.value


class Cut:
    """Ends a text before the first of some words, which may be spread over several pieces."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.held = ""  # what may be the beginning of one of them
        self.found = False

    def add(self, piece: str) -> str:
        """The text that is certain to come before a stop."""
        text = self.held + piece
        places = [place for word in self.words if (place := text.find(word)) >= 0]
        if places:
            self.held, self.found = "", True
            return text[: min(places)]
        longest = max(
            (size for word in self.words for size in range(1, len(word)) if text.endswith(word[:size])), default=0
        )
        self.held = text[len(text) - longest :]
        return text[: len(text) - longest]

    def rest(self) -> str:
        rest, self.held = self.held, ""
        return rest
