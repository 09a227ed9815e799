"""Text that goes on from a prompt, token after token, by any language model.

generator = Generator.load("runs/x")
generator.generate("ROMEO:", tokens=200)                    -> "ROMEO:\\nWhat ..."
for piece in generator.stream("ROMEO:", temperature=0.8):   -> as it is written
    print(piece, end="")
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from seqloom.config import Config
from seqloom.decode.options import SampleOptions
from seqloom.decode.sample import draw
from seqloom.decode.score import log_softmax
from seqloom.errors import UsageError
from seqloom.models.api import LanguageModel
from seqloom.runtime.engines import check_request, load_torch_model
from seqloom.runtime.folder import RunFolder, open_run
from seqloom.runtime.inputs import check_text
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD, PAD, UNK
from seqloom.text.written import WrittenText

TOKENS, TEMPERATURE = 300, 0.8  # what is written when nothing else is asked for
FEW = 30


class Generator:
    """A language model and its tokenizer. A model that looks back on a window goes on from the last half of it."""

    def __init__(
        self, model: LanguageModel, tokenizers: Tokenizers, config: Config, facts: dict[str, Any] | None = None
    ) -> None:
        self.model, self.tokenizers, self.config, self.facts = model.eval(), tokenizers, config, facts or {}
        self.tokenizer = tokenizers.source
        self.line_end = self.tokenizer.line_end

    @classmethod
    def load(cls, folder: str | Path, threads: int | None = None, device: str = "cpu") -> "Generator":
        check_request("torch", threads)
        run = open_run(Path(folder))
        check_task(run)
        model: Any = load_torch_model([run], threads, device)
        return cls(model, run.tokenizers, run.config, run.facts)

    def generate(self, prompt: str = "", tokens: int = TOKENS, **sampling: Any) -> str:
        """The prompt and what follows it; `sampling`: see `stream`."""
        return prompt + "".join(self.stream(prompt, tokens, **sampling))

    def translate(self, texts: str | list[str]) -> Any:
        """What most probably follows the text, or each text: a few words. A model is checked by that."""
        if isinstance(texts, str):
            return "".join(self.stream(texts, FEW, top_k=1))
        return [self.translate(text) for text in texts]

    def hypotheses(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError("a language model goes on with a text and translates none: use `seqloom generate`")

    alternatives = sample = hypotheses

    def stream(
        self,
        prompt: str = "",
        tokens: int = TOKENS,
        *,
        temperature: float = TEMPERATURE,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
        number: int = 0,
    ) -> Iterator[str]:
        """What follows the prompt, piece by piece, whole characters only; text `number` of those of this seed."""
        how = SampleOptions(1, temperature, top_k, top_p)
        if tokens < 1 or seed < 0:
            raise UsageError(f"tokens = {tokens}, seed = {seed}: want at least 1 token and a seed of 0 or more")
        return self.write(self.encode(prompt), tokens, how, np.random.default_rng([seed, number]))

    def encode(self, prompt: str) -> list[int]:
        """The prompt as it would stand in a text: after an EOS, its lines with a line end between them."""
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

    def write(self, prompt: list[int], num: int, how: SampleOptions, random: np.random.Generator) -> Iterator[str]:
        last_line = len(prompt) - prompt[::-1].index(EOS)
        # decoding drops <unk>, and with it the blank after it: any word does in its place
        written = WrittenText(self.tokenizer, [FIRST_WORD if token == UNK else token for token in prompt[last_line:]])
        for token in self.draw_tokens(prompt, num, how, random):
            if token == EOS != self.line_end:
                break  # not a line ends here but the text
            if piece := written.add(token):
                yield piece
        if rest := written.end():
            yield rest

    @torch.inference_mode()
    def draw_tokens(
        self, prompt: list[int], num: int, how: SampleOptions, random: np.random.Generator
    ) -> Iterator[int]:
        device, context = next(self.model.parameters()).device, self.model.context
        state, read, new = self.model.begin(1), list[int](), prompt
        for _ in range(num):
            if context and len(read) + len(new) > context:
                state, read, new = self.model.begin(1), [], (read + new)[-max(1, context // 2) :]
            hidden, state = self.model.read(torch.tensor([new], device=device), state)
            log_probs = log_softmax(self.model.project(hidden[:, -1]))
            log_probs[:, [PAD, BOS, UNK]] = float("-inf")
            noise = torch.tensor([random.random()], dtype=torch.float64, device=device)
            read, new = read + new if context else [], [int(draw(log_probs, noise, how))]
            yield new[0]


def check_task(run: RunFolder) -> None:
    task = run.config.task.name
    if task != "language":
        raise UsageError(
            f"{run.path}: a model of task {task}; only one of task language goes on with a text. "
            f"Use `seqloom translate {run.path}`."
        )
