"""What all readers need to be used: texts in parts that fit, probabilities out, and a refusal of what is for search.

A reader answers like a `Translator` (`translate`, `hypotheses`), so every verb that asks a model takes it.
"""

import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

import torch
from torch import Tensor

from seqloom.config import Config
from seqloom.errors import UsageError
from seqloom.models.api import Reader
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.engines import check_request
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.inputs import Warn, check_text
from seqloom.runtime.padding import padded
from seqloom.runtime.parts import NOTHING, Part, Translation
from seqloom.runtime.requests import batches_by_length
from seqloom.text.sides import Tokenizers
from seqloom.text.tags import words_of_pieces
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD

Self = TypeVar("Self", bound="ReaderModel")


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text as tokens, and the word of each."""

    ids: list[int]
    words: list[int]


class ReaderModel:
    """A reader with its tokenizers and settings; `answers` is what the tasks fill in."""

    tasks: tuple[str, ...]

    def __init__(
        self, model: Reader, tokenizers: Tokenizers, config: Config, facts: dict[str, Any] | None = None
    ) -> None:
        self.model = model.eval()
        self.tokenizers, self.config, self.facts = tokenizers, config, facts or {}
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls: type[Self], folder: str | Path, threads: int | None = None, device: str = "cpu") -> Self:
        """The model in a run folder; `threads` of torch hold for the whole process."""
        check_request("torch", threads)
        run = open_run(Path(folder))
        if (task := run.config.task.name) not in cls.tasks:
            raise UsageError(f"{folder}: a model to {task}; want one to {' or '.join(cls.tasks)}")
        place = find_device(device)
        if threads is not None:
            torch.set_num_threads(threads)
        model: Any = load_model(run)
        return cls(model.to(place), run.tokenizers, run.config, run.facts)

    @overload
    def translate(self, text: str) -> str: ...
    @overload
    def translate(self, text: list[str]) -> list[str]: ...
    def translate(self, text: str | list[str]) -> str | list[str]:
        """What the model says of a text, or of each text of a list, in its order."""
        if isinstance(text, str):
            return self.hypotheses([text])[0][0].text
        return [found[0].text for found in self.hypotheses(text)]

    def hypotheses(
        self,
        texts: Sequence[str],
        beam: int | None = None,
        n_best: int = 1,
        *,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **settings: Any,
    ) -> list[list[Translation]]:
        """The n_best answers to each text, best first; an empty text has the empty answer."""
        given = {"beam": beam, **settings}
        if asked := [name for name, setting in given.items() if setting is not None]:
            self.refuse(asked[0])
        check_text(texts, lines or range(1, len(texts) + 1))
        found = iter(self.answers([text for text in texts if text.strip()], n_best))
        return [next(found) if text.strip() else [NOTHING] * n_best for text in texts]

    def answers(self, texts: list[str], n_best: int) -> list[list[Translation]]:
        raise NotImplementedError

    def alternatives(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("alternatives")

    def sample(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("sample")

    def refuse(self, option: str) -> NoReturn:
        name = "prefix" if option == "prefixes" else option.replace("_", "-")
        raise UsageError(
            f"--{name} is for models that write an output word by word; this one was trained to "
            f"{self.config.task.name}, which knows no search. Leave it out."
        )

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """The tokens of each text, as in training."""
        check_text(texts, range(1, len(texts) + 1))
        if self.config.data.normalise == "nfc":
            texts = [unicodedata.normalize("NFC", text) for text in texts]
        tokenizer = self.tokenizers.source
        words = map(words_of_pieces, texts, tokenizer.spans_batch(texts))
        return [Pieces(*both) for both in zip(tokenizer.encode_batch(texts), words, strict=True)]

    @torch.inference_mode()
    def read(self, parts: Sequence[list[int]], at: Sequence[list[int]] | None = None) -> list[Tensor]:
        """p(label) of each part, read as BOS x EOS: (1, V - 4) where the whole text has one label, else (m + 2, V - 4).

        `at`: only at these places of each part. The special ids are never an answer.
        """
        found: list[Tensor] = [torch.empty(0)] * len(parts)
        for places in batches_by_length([Part(ids) for ids in parts], self.config.decode.batch_size):
            src, mask = padded(([BOS, *parts[place], EOS] for place in places), self.device)
            for place, hidden in zip(places, self.model.hidden(src, mask), strict=True):
                real = hidden[: len(parts[place]) + 2]
                logits = self.model.project(real[at[place]] if at is not None else real)
                found[place] = logits[:, FIRST_WORD:].softmax(-1).cpu()
        return found
