"""Base of encoder-only models (Labeller, GapFiller): texts in, probabilities out; search options are refused.

It has the methods of a `Translator` (`translate`, `hypotheses`), so every verb that asks a model can use it.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

import torch
from torch import Tensor

from seqloom.config import TASKS, Config, tasks_of
from seqloom.decode.options import SearchRequest, spelled
from seqloom.errors import UsageError
from seqloom.models.api import Reader
from seqloom.runtime.engine_torch import find_device, padded
from seqloom.runtime.engines import Notice, check_request
from seqloom.runtime.explaining import Explains
from seqloom.runtime.folder import load_model, open_latest
from seqloom.runtime.inputs import Warn, as_list, check_text, one_or_many
from seqloom.runtime.parts import NOTHING, Part, Translation, batches_by_length
from seqloom.runtime.plain_module import PlainModule
from seqloom.runtime.prefixes import PrefixTexts
from seqloom.text.sides import Tokenizers
from seqloom.text.tags import words_of_pieces
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD

PUBLIC = ("config", "device", "explain", "facts", "hypotheses", "load", "module", "tokenizers", "translate")
Self = TypeVar("Self", bound="ReaderModel")


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text as tokens, with the word number of each."""

    ids: list[int]
    words: list[int]


class ReaderModel(Explains):
    """An encoder-only model with its tokenizers and settings. Each task has its own `answers`."""

    shapes: tuple[str, ...]  # shapes of answers (config/tasks.py) that this class gives
    own_names: tuple[str, ...] = ()  # public names of this class; dir() shows them and PUBLIC

    def __init__(
        self, model: Reader, tokenizers: Tokenizers, config: Config, facts: dict[str, Any] | None = None
    ) -> None:
        self.model = model.eval()
        self.tokenizers, self.config, self.facts = tokenizers, config, facts or {}
        self.device = next(model.parameters()).device

    @classmethod
    def load(
        cls: type[Self],
        folder: str | Path,
        threads: int | None = None,
        device: str = "cpu",
        notice: Notice = warnings.warn,
    ) -> Self:
        """Load the model in a run folder; `threads` sets the torch threads of the whole process."""
        check_request("torch", threads)
        run = open_latest(Path(folder), notice)
        if TASKS[run.config.task.name].shape not in cls.shapes:
            wanted = " or ".join(map(repr, tasks_of(*cls.shapes)))
            raise UsageError(
                f"{folder}: this model was trained for {run.config.task.name!r}; {cls.__name__} needs one for {wanted}"
            )
        place = find_device(device)
        if threads is not None:
            torch.set_num_threads(threads)
        model: Any = load_model(run)
        return cls(model.to(place), run.tokenizers, run.config, run.facts.to_json()).opened_from(run.path)

    def __dir__(self) -> list[str]:
        return sorted((*PUBLIC, *self.own_names))

    @overload
    def translate(self, text: str) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, text: Iterator[str]) -> Iterator[str]: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, text: Iterable[str]) -> list[str]: ...
    def translate(self, text: str | Iterable[str]) -> str | list[str] | Iterator[str]:
        """The best answer to a text, to each text of a collection (as a list), or of an iterator (as an iterator)."""

        def answer(texts: list[str], lines: Sequence[int]) -> list[str]:
            return [found[0].text for found in self.hypotheses(texts, lines=lines)]

        return one_or_many(text, answer)

    @cached_property
    def module(self) -> PlainModule:
        """The model as a plain torch module: `module(ids)` gives logits."""
        return PlainModule(self.model, self.tokenizers, self.config)

    def hypotheses(
        self, texts: Sequence[str], beam: int | None = None, n_best: int | None = None, **options: Any
    ) -> list[list[Translation]]:
        """The n_best answers to each text, best first; the answer to an empty text is empty."""
        about = {name: options.pop(name) for name in ("prefixes", "lines", "warn") if name in options}
        return self.answer(texts, SearchRequest.of(beam=beam, n_best=n_best, **options), **about)

    def answer(
        self,
        texts: Sequence[str],
        request: SearchRequest,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
    ) -> list[list[Translation]]:
        """The answers to each text, as a Translator gives them; options of a search are refused, but for n_best."""
        if asked := [name for name in (*request.given, *["prefix"] * (prefixes is not None)) if name != "n_best"]:
            self.refuse(asked[0])
        n_best, texts = request.shown, as_list(texts)
        if "module" in self.__dict__:
            self.module.eval()  # its owner may be training it: an answer has no dropout
        check_text(texts, lines or range(1, len(texts) + 1))
        found = iter(self.answers([text for text in texts if text.strip()], n_best))
        return [next(found) if text.strip() else [self.answer_to_blank(text)] * n_best for text in texts]

    def answer_to_blank(self, text: str) -> Translation:
        return NOTHING

    def answers(self, texts: list[str], n_best: int) -> list[list[Translation]]:
        raise NotImplementedError

    def alternatives(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("alternatives")

    def sample(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("sample")

    def refuse(self, option: str) -> NoReturn:
        raise UsageError(
            f"{spelled(option)} is for models that write an output token by token; this one was trained for "
            f"{self.config.task.name!r} and uses no search. Leave {spelled(option)} out."
        )

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """The tokens of each text, as in training."""
        texts = as_list(texts)
        check_text(texts, range(1, len(texts) + 1))
        if self.config.data.normalise == "nfc":
            texts = [unicodedata.normalize("NFC", text) for text in texts]
        tokenizer = self.tokenizers.source
        words = map(words_of_pieces, texts, tokenizer.spans_batch(texts))
        return [Pieces(*both) for both in zip(tokenizer.encode_batch(texts), words, strict=True)]

    @torch.inference_mode()
    def read(self, parts: Sequence[list[int]], at: Sequence[list[int]] | None = None) -> list[Tensor]:
        """p(label) of each part, read as BOS x EOS: (1, V - 4) where the whole text has one label, else (m + 2, V - 4).

        `at`: only at these positions of each part. Special ids are never an answer.
        """
        found: list[Tensor] = [torch.empty(0)] * len(parts)
        for places in batches_by_length([Part(ids) for ids in parts], self.config.decode.batch_size):
            src, mask = padded(([BOS, *parts[place], EOS] for place in places), self.device)
            for place, hidden in zip(places, self.model.hidden(src, mask), strict=True):
                real = hidden[: len(parts[place]) + 2]
                logits = self.model.project(real[at[place]] if at is not None else real)
                found[place] = logits[:, FIRST_WORD:].softmax(-1).cpu()
        return found
