"""The reference engine, on torch: runs any model through its contract, with every search option."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Barrier

import torch
from torch import Tensor

from seqloom.config import Config
from seqloom.config.load import SYNONYMS
from seqloom.decode.alternatives import alternatives
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.decode.sample import sample
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.runtime.fast_recurrent import FastRecurrent
from seqloom.runtime.parts import MOST_ROWS, Part, batches_by_length
from seqloom.runtime.plain_module import PlainModule, pad
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import EOS, PAD


class TorchEngine:
    """The reference engine: supports every request, through the contract of models. Puts the model into eval mode."""

    name = "torch"

    def __init__(self, model: Seq2Seq, batch_size: int) -> None:
        self.model = model.eval()
        self.batch_size = batch_size
        self.device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))

    def plain_module(self, tokenizers: Tokenizers, config: Config) -> PlainModule:
        """The model as a torch module with `forward`, which shares its weights."""
        return PlainModule(self.model, tokenizers, config)

    def lacks(self, request: SearchRequest, parts: Sequence[Part]) -> str:
        return ""

    def find(self, request: SearchRequest, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in parts]
        batches = batches_by_length(parts, self.most(request, len(parts)))
        answers = self.answer_all(request, [[parts[place] for place in places] for places in batches])
        for places, batch in zip(batches, answers, strict=True):
            for place, answer in zip(places, batch, strict=True):
                found[place] = answer
        return found

    def most(self, request: SearchRequest, number: int) -> int:
        """The most sentences of a batch."""
        return max(1, min(self.batch_size, MOST_ROWS // request.rows))

    def answer_all(self, request: SearchRequest, batches: list[list[Part]]) -> Iterable[list[list[Hypothesis]]]:
        return (self.answer(request, batch) for batch in batches)

    @torch.inference_mode()
    def remember(self, batch: list[Part]) -> Memory:
        return self.model.encode(*padded(([*part.ids, EOS] for part in batch), self.device))

    def answer(self, request: SearchRequest, batch: list[Part]) -> list[list[Hypothesis]]:
        memory = self.remember(batch)
        prefixes = [part.prefix for part in batch]
        if request.alternatives:
            at_once = max(1, MOST_ROWS // request.beam)
            return alternatives(self.model, memory, request, prefixes=prefixes, at_once=at_once)
        if request.sample:
            seeds = [(request.seed, *part.place) for part in batch]
            return sample(self.model, memory, request, seeds=seeds, prefixes=prefixes)
        return search(self.model, memory, request, prefixes=prefixes)


class SeveralBatches(TorchEngine):
    """Runs as many batches at once as there are threads, each on one core.

    The products of a time step are small: two cores that share them mostly wait for each other; two cores with one
    batch each do not. A single sentence is also fastest on one core.
    """

    def __init__(self, model: Seq2Seq, batch_size: int, threads: int) -> None:
        super().__init__(model, batch_size)
        self.threads = threads

    def most(self, request: SearchRequest, number: int) -> int:
        return max(1, min(super().most(request, number), -(-number // self.threads)))

    def answer_all(self, request: SearchRequest, batches: list[list[Part]]) -> Iterable[list[list[Hypothesis]]]:
        longest_first = [self.workers.submit(self.answer, request, batch) for batch in reversed(batches)]
        try:
            return [found.result() for found in reversed(longest_first)]
        except BaseException:  # Ctrl-C: do not start the remaining batches
            for waiting in longest_first:
                waiting.cancel()
            raise

    @cached_property
    def workers(self) -> ThreadPoolExecutor:
        """Threads with one torch thread each; the calling thread keeps its number of torch threads."""
        pool, own = ThreadPoolExecutor(self.threads, self.name, settle_on_one_thread), torch.get_num_threads()
        all_there = Barrier(self.threads)
        for started in [pool.submit(all_there.wait) for _ in range(self.threads)]:
            started.result()
        torch.set_num_threads(own)
        return pool


class RecurrentEngine(SeveralBatches):
    """A recurrent model with a faster step (runtime/fast_recurrent.py)."""

    name = "recurrent"

    def __init__(self, model: RecurrentSeq2Seq, batch_size: int) -> None:
        super().__init__(FastRecurrent(model), batch_size, torch.get_num_threads())


def settle_on_one_thread() -> None:
    """Use one torch thread in the calling thread."""
    torch.get_num_threads()  # a thread copies the global number when it first asks, so ask before setting its own
    torch.set_num_threads(1)


def padded(rows: Iterable[Sequence[int]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Rows of ids as (B, S), right-padded with PAD, and their mask; the ids of a text are never PAD."""
    grid = pad(rows, device)
    return grid, grid != PAD


def find_device(name: str) -> torch.device:
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        name = "cuda" if has_cuda else "cpu"
    if name.startswith("cuda") and not has_cuda:
        raise UsageError(f"device = {name}: there is no CUDA device here; use cpu")
    try:
        return torch.device(name)
    except RuntimeError:
        meant = f" Did you mean {SYNONYMS[name]!r}?" if name in SYNONYMS else ""
        raise UsageError(f"device = {name!r}: want auto, cpu or cuda.{meant}") from None
