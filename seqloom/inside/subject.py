"""One model on one text, as every view gets it: ids, texts, the forward pass and what it recorded.

A view is a function `(subject, options) -> Parts`; `views.py` lists them. Positions in a map:

    source    token of `subject.source`, special tokens included
    target    step t: it writes token t of `subject.target`, after it has read the prefix up to t
    prefix    token that the decoder has read: 0 is the start token, k is token k - 1 of the target
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.config import TASKS, Config
from seqloom.decode.options import SearchRequest
from seqloom.decode.score import log_softmax
from seqloom.explain.document import Agreement, Beam, Decay, Heads, Map, Reading, Side
from seqloom.explain.points import Path
from seqloom.inside.basis import Basis
from seqloom.models.api import LanguageModel, Reader, Seq2Seq
from seqloom.nn.trace import Trace
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import FIRST_WORD

WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Subject:
    """One model on one text. `read_ids` go into the decoder, `written_ids` come out: the same text, shifted by one."""

    model: Seq2Seq | Reader  # in eval mode
    tokenizers: Tokenizers
    config: Config
    source: Side
    target: Side | None  # None: labels, tags or gaps
    source_ids: list[int]  # as the model reads them, special tokens included; empty for language models
    read_ids: list[int] = field(default_factory=list)
    written_ids: list[int] = field(default_factory=list)  # of labels, tags and gaps: the answers
    answers: list[str] = field(default_factory=list)
    forced: bool = False
    score: float | None = None
    at: list[int] | None = None  # labels, tags, gaps: the source tokens at which the answers are read; None = all
    labels: list[str] = field(default_factory=list)  # names of the answers of a labeller
    reference: str | None = None
    reference_ids: list[int] = field(default_factory=list)  # with EOS
    request: SearchRequest | None = None  # the search that found the target; filled
    prefix: list[int] = field(default_factory=list)  # ids that the search had to begin with
    notes: list[str] = field(default_factory=list)
    name: str = ""
    folder: FilePath | None = None

    @property
    def shape(self) -> str:
        """The shape of the answers, a key of config.tasks.SHAPES."""
        return TASKS[self.config.task.name].shape

    @property
    def family(self) -> str:
        return self.config.model.kind

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @cached_property
    def src(self) -> Tensor:
        """(1, S)"""
        return torch.tensor([self.source_ids], dtype=torch.long, device=self.device)

    @cached_property
    def src_mask(self) -> Tensor:
        """(1, S), all True."""
        return torch.ones_like(self.src, dtype=torch.bool)

    @cached_property
    def tgt_in(self) -> Tensor:
        """(1, T)"""
        return torch.tensor([self.read_ids], dtype=torch.long, device=self.device)

    def hidden(self, model: Any = None, trace: Trace | None = None) -> Tensor:
        """The vectors that the answers are predicted from, (T, D), by this model or by one of the same sizes.

        Gradients flow unless the caller switches them off.
        """
        model = self.model if model is None else model
        if isinstance(model, Reader):
            found = model.hidden(self.src, self.src_mask, trace)[0]
            return found if self.at is None else found[self.at]
        if self.shape == "continues":
            assert isinstance(model, LanguageModel)
            return model.read(self.tgt_in, model.begin(1), trace)[0][0]
        return model.hidden(self.tgt_in, model.encode(self.src, self.src_mask, trace), trace)[0]

    def predict(self, hidden: Tensor, model: Any = None) -> Tensor:
        """log p of every token or label from hidden vectors: (T, D) -> (T, V). Special ids are never a label."""
        logits = (self.model if model is None else model).project(hidden)
        if isinstance(self.model, Reader):
            logits = logits.index_fill(-1, torch.arange(FIRST_WORD, device=logits.device), float("-inf"))
        return log_softmax(logits)

    @cached_property
    def passed(self) -> tuple[Tensor, Trace]:
        """One forward pass with a trace: hidden vectors (T, D) and the trace."""
        trace = Trace()
        with torch.inference_mode():
            return self.hidden(trace=trace), trace

    @cached_property
    def log_probs(self) -> Tensor:
        """(T, V)"""
        with torch.inference_mode():
            return self.predict(self.passed[0])

    @cached_property
    def recorded(self) -> dict[str, NDArray[np.float32]]:
        """What the trace recorded, by name, without the batch axis: gates (T, H), heads (N, T, S), attention (T, S)."""
        trace = self.passed[1]
        return {
            name: torch.cat(trace[name], -2)[0].float().cpu().numpy()  # one recording per step, or one for all
            for name in trace.names()
        }

    def piece(self, index: int) -> str:
        """The name of an answer: a token, or a label."""
        return self.labels[index - FIRST_WORD] if self.labels else self.tokenizers.target.pieces([index])[0]


@dataclass(frozen=True)
class Options:
    """What views may need beside the subject."""

    top: int = 5  # alternatives per step
    sentences: Sequence[str] | None = (
        None  # texts that heads and the axes of states are measured on; None = the model's
    )
    samples: Callable[[], Sequence[Subject]] = tuple  # these texts, as subjects
    bases: dict[str, Basis] = field(default_factory=dict)  # the view of states puts its axes here, by their hash


@dataclass
class Parts:
    """What a view adds to a lane; `source_share` goes into its steps."""

    maps: list[Map] = field(default_factory=list)
    heads: Heads | None = None
    decay: list[Decay] = field(default_factory=list)
    agreement: list[Agreement] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    beam: Beam | None = None
    lens: list[Reading] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    source_share: list[float] = field(default_factory=list)


class Lacks(Exception):
    """This model has nothing to show in a view; the message says why, as a clause: `it has no attention`."""
