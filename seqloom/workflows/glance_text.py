"""What a language model writes when it is asked for a text, at every validation with the same random numbers."""

from collections.abc import Callable

import torch

from seqloom.config import Config
from seqloom.data.store import Store
from seqloom.models.api import LanguageModel
from seqloom.runtime.generator import Generator
from seqloom.text.sides import Tokenizers

TOKENS = 60


class Writing:
    def __init__(
        self, model: LanguageModel, store: Store, tokenizers: Tokenizers, config: Config, device: torch.device
    ) -> None:
        self.generator = Generator(model, tokenizers, config)

    def look(self, pause: Callable[[], None] = lambda: None) -> tuple[dict[str, float], list[str]]:
        pieces = []
        for piece in self.generator.stream(tokens=TOKENS):
            pause()
            pieces.append(piece)
        return {}, ["".join(pieces)]

    def show(self, before: list[str], answers: list[str]) -> list[str]:
        return [f"  writes  {line}" for answer in answers for line in answer.splitlines() if line.strip()]
