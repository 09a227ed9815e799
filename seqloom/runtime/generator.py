"""Generates text from a prompt, token by token, with any language model.

generator = Generator.load("runs/x")
generator.generate("ROMEO:", tokens=200)                    -> "ROMEO:\\nWhat ..."
for piece in generator.stream("ROMEO:", temperature=0.8):   -> piece by piece
    print(piece, end="")
"""

import unicodedata
import warnings
from collections.abc import Generator as Steps
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from seqloom.config import TASKS, Config
from seqloom.decode.options import SearchRequest
from seqloom.decode.sample import draw
from seqloom.decode.score import log_softmax
from seqloom.errors import UsageError
from seqloom.models.api import LanguageModel
from seqloom.runtime.engines import Notice, check_request, load_torch_model
from seqloom.runtime.explaining import Explains
from seqloom.runtime.folder import RunFolder, open_latest
from seqloom.runtime.inputs import check_text, one_or_many
from seqloom.runtime.plain_module import PlainModule
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD, PAD, UNK
from seqloom.text.written import WrittenText

TOKENS, TEMPERATURE = 300, 0.8  # defaults
FEW = 30


@dataclass(frozen=True, slots=True)
class End:
    """How a continuation ended; the iterator over its pieces returns it."""

    tokens: int  # that were drawn
    by_itself: bool  # the model ended the text; otherwise it has as many tokens as were asked for


class Generator(Explains):
    """A language model and its tokenizer. When a limited context is full, the model continues from its last half."""

    def __init__(
        self, model: LanguageModel, tokenizers: Tokenizers, config: Config, facts: dict[str, Any] | None = None
    ) -> None:
        self.model, self.tokenizers, self.config, self.facts = model.eval(), tokenizers, config, facts or {}
        self.tokenizer = tokenizers.source
        self.line_end = self.tokenizer.line_end

    @classmethod
    def load(
        cls, folder: str | Path, threads: int | None = None, device: str = "cpu", notice: Notice = warnings.warn
    ) -> "Generator":
        """Load a language model from a run folder; `threads` sets the torch threads of the whole process."""
        check_request("torch", threads)
        run = open_latest(Path(folder), notice)
        check_task(run)
        model: Any = load_torch_model([run], threads, device)
        return cls(model, run.tokenizers, run.config, run.facts.to_json()).opened_from(run.path)

    def __dir__(self) -> list[str]:
        return ["config", "explain", "facts", "generate", "load", "module", "stream", "tokenizers", "translate"]

    def generate(self, prompt: str = "", tokens: int = TOKENS, **sampling: Any) -> str:
        """The prompt and its continuation; `sampling`: see `stream`."""
        return prompt + "".join(self.stream(prompt, tokens, **sampling))

    def translate(self, texts: str | Iterable[str]) -> Any:
        """The most probable few words after the text, or after each text; `seqloom info --check` compares them."""

        def answer(prompts: list[str], lines: Sequence[int]) -> list[str]:
            check_text(prompts, lines)
            return ["".join(self.stream(prompt, FEW, top_k=1)) for prompt in prompts]

        return one_or_many(texts, answer)

    @cached_property
    def module(self) -> PlainModule:
        """The model as a plain torch module: `module(ids)` gives the logits of the next token at each place."""
        return PlainModule(self.model, self.tokenizers, self.config)

    def hypotheses(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError("a language model continues a text and does not translate: use `seqloom generate`")

    answer = alternatives = sample = hypotheses

    def stream(
        self, prompt: str = "", tokens: int = TOKENS, *, number: int = 0, **sampling: Any
    ) -> Steps[str, None, End]:
        """Yield the continuation of the prompt, piece by piece, in whole characters.

        `number`: which of the texts of this seed. `sampling`: temperature, top_k, top_p, seed of a `SearchRequest`.
        """
        request = sampling_request(**sampling)
        if tokens < 1:
            raise UsageError(f"tokens = {tokens}: want at least 1 token")
        return self.write(self.encode(prompt), tokens, request, np.random.default_rng([request.seed, number]))

    def encode(self, prompt: str) -> list[int]:
        """The ids of the prompt as in running text: an EOS, then its lines, separated by line ends."""
        first, *others = self.tokenizer.encode_batch(self.lines_of(prompt))
        return [EOS, *first, *(token for line in others for token in (self.line_end, *line))]

    def lines_of(self, prompt: str) -> list[str]:
        lines = prompt.replace("\r\n", "\n").split("\n")
        check_text(lines, range(1, len(lines) + 1))
        if self.config.data.normalise == "nfc":
            lines = [unicodedata.normalize("NFC", line) for line in lines]
        return lines

    def unknown_words(self, prompt: str) -> list[str]:
        """The words that the model reads as <unk>, each once, in their order."""
        words = list(dict.fromkeys(word for line in self.lines_of(prompt) for word in line.split()))
        return [word for word, ids in zip(words, self.tokenizer.encode_batch(words), strict=True) if UNK in ids]

    def write(
        self, prompt: list[int], num: int, request: SearchRequest, random: np.random.Generator
    ) -> Steps[str, None, End]:
        last_line = len(prompt) - prompt[::-1].index(EOS)
        # decoding would drop <unk> and the space after it; any other word keeps the space
        written = WrittenText(self.tokenizer, [FIRST_WORD if token == UNK else token for token in prompt[last_line:]])
        drawn, by_itself = 0, False
        for token in self.draw_tokens(prompt, num, request, random):
            drawn += 1
            by_itself = token == EOS != self.line_end
            if by_itself:
                break  # here the text ends, not a line
            if piece := written.add(token):
                yield piece
        if rest := written.end():
            yield rest
        return End(drawn, by_itself)

    @torch.inference_mode()
    def draw_tokens(
        self, prompt: list[int], num: int, request: SearchRequest, random: np.random.Generator
    ) -> Iterator[int]:
        self.model.eval()  # the owner of `module` may be training it
        device, context = next(self.model.parameters()).device, self.model.context
        state, read, new = self.model.begin(1), list[int](), prompt
        for _ in range(num):
            if context and len(read) + len(new) > context:
                state, read, new = self.model.begin(1), [], (read + new)[-max(1, context // 2) :]
            hidden, state = self.model.read(torch.tensor([new], device=device), state)
            log_probs = log_softmax(self.model.project(hidden[:, -1]))
            log_probs[:, [PAD, BOS, UNK]] = float("-inf")
            noise = torch.tensor([random.random()], dtype=torch.float64, device=device)
            read, new = read + new if context else [], [int(draw(log_probs, noise, request))]
            yield new[0]


def sampling_request(**sampling: Any) -> SearchRequest:
    """The request for one sampled text; UsageError for wrong options."""
    return SearchRequest.of(**{"temperature": TEMPERATURE, **sampling, "sample": 1}).filled()


def check_task(run: RunFolder) -> None:
    task = run.config.task.name
    if TASKS[task].shape != "continues":
        raise UsageError(
            f"{run.path}: this model was trained for {task!r}; only a language model continues a prompt. "
            f"Use `seqloom {TASKS[task].verb} {run.path}`."
        )
