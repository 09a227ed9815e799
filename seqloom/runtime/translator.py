"""Text in, text out: a trained model with its tokenizers.

translator = Translator.load("runs/x")
translator.translate("a sentence")          -> "une phrase"
translator.translate(["one", "two"])        -> ["un", "deux"]
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import torch
from numpy.typing import NDArray

from seqloom.config import Config
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Seq2Seq
from seqloom.runtime.alignment import cross_attention
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.inputs import Warn, encode_texts, prepare
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True, slots=True)
class Translation:
    text: str
    score: float  # what hypotheses are ranked by; the mean over the parts of a text that was split
    log_prob: float  # natural log of the probability, summed over the tokens


MOST_BEAM, MOST_THREADS = 1000, 1024  # more is a slip of the keyboard: it would take all the memory
NOTHING = Translation("", 0.0, 0.0)  # what becomes of an empty text


class Translator:
    """A model, its tokenizers and its settings. Puts the model into eval mode."""

    def __init__(
        self, model: Seq2Seq, tokenizers: Tokenizers, config: Config, facts: dict[str, Any] | None = None
    ) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.config = config
        self.facts = facts or {}
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, folder: str | Path, threads: int | None = None, device: str = "cpu") -> "Translator":
        """The model in a run folder. `threads` holds for the whole process: torch has one pool."""
        run = open_run(Path(folder))
        if threads is not None:
            if not 1 <= threads <= MOST_THREADS:
                raise UsageError(f"threads = {threads}: want 1 to {MOST_THREADS}")
            torch.set_num_threads(threads)
        return cls(load_model(run).to(find_device(device)), run.tokenizers, run.config, run.facts)

    @overload
    def translate(self, text: str, beam: int | None = None) -> str: ...
    @overload
    def translate(self, text: list[str], beam: int | None = None) -> list[str]: ...
    def translate(self, text: str | list[str], beam: int | None = None) -> str | list[str]:
        """The best translation of a text, or of each text of a list, in its order."""
        if isinstance(text, str):
            return self.hypotheses([text], beam)[0][0].text
        return [found[0].text for found in self.hypotheses(text, beam)]

    def hypotheses(
        self,
        texts: Sequence[str],
        beam: int | None = None,
        n_best: int = 1,
        *,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
    ) -> list[list[Translation]]:
        """The n_best translations of each text, best first. `lines` are what warnings call them, else 1, 2, 3 ..."""
        beam = max(n_best, self.config.decode.beam) if beam is None else beam
        prepared = prepare(
            texts,
            self.tokenizers.source,
            max_tokens=self.config.data.max_tokens,
            normalise=self.config.data.normalise,
            lines=lines or range(1, len(texts) + 1),
            warn=warn,
        )
        found = iter(self.search([part for parts in prepared for part in parts], beam, n_best))
        return [self.join([next(found) for _ in parts]) if parts else [NOTHING] * n_best for parts in prepared]

    def search(self, sources: list[list[int]], beam: int, n_best: int = 1) -> list[list[Hypothesis]]:
        """The n_best outputs for each source, in the order given. Batches are sorted by length: little is padding."""
        if not 1 <= n_best <= beam <= MOST_BEAM:
            raise UsageError(f"beam = {beam}, n_best = {n_best}: want 1 <= n_best <= beam <= {MOST_BEAM}")
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        found: list[list[Hypothesis]] = [[] for _ in sources]
        size = self.config.decode.batch_size
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch = [torch.tensor([*sources[row], EOS]) for row in rows]
            src = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=PAD).to(self.device)
            with torch.inference_mode():
                memory = self.model.encode(src, src != PAD)
            answers = search(
                self.model, memory, beam=beam, n_best=n_best, length_penalty=self.config.decode.length_penalty
            )
            for row, answer in zip(rows, answers, strict=True):
                found[row] = answer
        return found

    def join(self, parts: list[list[Hypothesis]]) -> list[Translation]:
        """The best of each part makes the best of the text, the second best the second, and so on."""
        return [
            Translation(
                text=" ".join(self.tokenizers.target.decode(part.ids) for part in ranked),
                score=sum(part.score for part in ranked) / len(ranked),
                log_prob=sum(part.log_prob for part in ranked),
            )
            for ranked in zip(*parts, strict=False)
        ]

    def align(self, source: str, target: str | None = None) -> tuple[list[str], list[str], NDArray[Any]]:
        """Source pieces, target pieces and the (T,S) attention between them; both end in </s>, each row sums to 1.

        Without a target: the model's own translation.
        """
        source_ids = self.encode_whole(source, self.tokenizers.source)
        if target is None:
            target_ids = list(self.search([source_ids], self.config.decode.beam)[0][0].ids)
        else:
            target_ids = self.encode_whole(target, self.tokenizers.target)
        src = torch.tensor([[*source_ids, EOS]], device=self.device)
        tgt_in = torch.tensor([[BOS, *target_ids]], device=self.device)
        weights = cross_attention(self.model, src, tgt_in).cpu().numpy()
        pieces = self.tokenizers.source.pieces([*source_ids, EOS]), self.tokenizers.target.pieces([*target_ids, EOS])
        return *pieces, weights

    def encode_whole(self, text: str, tokenizer: Tokenizer) -> list[int]:
        """The ids of a text that the model takes in one piece."""
        ids = encode_texts([text], tokenizer, self.config.data.normalise)[0]
        if not 1 <= len(ids) <= self.config.data.max_tokens:
            raise UsageError(f"{len(ids)} tokens; an alignment shows texts of 1 to {self.config.data.max_tokens}")
        return ids


def find_device(name: str) -> torch.device:
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        name = "cuda" if has_cuda else "cpu"
    if name.startswith("cuda") and not has_cuda:
        raise UsageError(f"device = {name}: there is no CUDA device here; use cpu")
    try:
        return torch.device(name)
    except RuntimeError:
        raise UsageError(f"device = {name!r}: want auto, cpu or cuda") from None
