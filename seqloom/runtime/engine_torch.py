"""The reference engine: any model through its contract, every option, on torch."""

from collections.abc import Sequence

import torch

from seqloom.decode.alternatives import alternatives
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.sample import sample
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.runtime.fast_recurrent import FastRecurrent
from seqloom.runtime.parts import MOST_ROWS, Part
from seqloom.runtime.requests import Alternatives, Request, Sample, batches_by_length
from seqloom.text.vocabulary import EOS, PAD


class TorchEngine:
    """Puts the model into eval mode."""

    name = "torch"

    def __init__(self, model: Seq2Seq, batch_size: int) -> None:
        self.model = model.eval()
        self.batch_size = batch_size
        self.device = next(model.parameters()).device

    def lacks(self, request: Request, parts: Sequence[Part]) -> str:
        return ""

    def find(self, request: Request, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in parts]
        size = max(1, min(self.batch_size, MOST_ROWS // request.rows))
        for places in batches_by_length(parts, size):
            batch = [parts[place] for place in places]
            for place, answer in zip(places, self.answer(request, self.remember(batch), batch), strict=True):
                found[place] = answer
        return found

    @torch.inference_mode()
    def remember(self, batch: list[Part]) -> Memory:
        rows = [torch.tensor([*part.ids, EOS]) for part in batch]
        src = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(self.device)
        return self.model.encode(src, src != PAD)

    def answer(self, request: Request, memory: Memory, batch: list[Part]) -> list[list[Hypothesis]]:
        options, prefixes = request.options, [part.prefix for part in batch]
        if isinstance(request, Alternatives):
            return alternatives(self.model, memory, request.num, options, prefixes=prefixes)
        if isinstance(request, Sample):
            seeds = [(request.seed, *part.place) for part in batch]
            return sample(self.model, memory, request.how, options, seeds=seeds, prefixes=prefixes)
        return search(self.model, memory, options, prefixes=prefixes)


class RecurrentEngine(TorchEngine):
    """The same with a faster step (runtime/fast_recurrent.py)."""

    name = "recurrent"

    def __init__(self, model: RecurrentSeq2Seq, batch_size: int) -> None:
        super().__init__(FastRecurrent(model), batch_size)


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
