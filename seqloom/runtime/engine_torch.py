"""The reference engine: any model through its contract, every option, on torch."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Barrier

import torch

from seqloom.decode.alternatives import alternatives
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.sample import sample
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.runtime.fast_recurrent import FastRecurrent
from seqloom.runtime.padding import padded
from seqloom.runtime.parts import MOST_ROWS, Part
from seqloom.runtime.requests import Alternatives, Request, Sample, batches_by_length
from seqloom.text.vocabulary import EOS


class TorchEngine:
    """Puts the model into eval mode."""

    name = "torch"

    def __init__(self, model: Seq2Seq, batch_size: int) -> None:
        self.model = model.eval()
        self.batch_size = batch_size
        self.device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))

    def lacks(self, request: Request, parts: Sequence[Part]) -> str:
        return ""

    def find(self, request: Request, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in parts]
        batches = batches_by_length(parts, self.most(request, len(parts)))
        answers = self.answer_all(request, [[parts[place] for place in places] for places in batches])
        for places, batch in zip(batches, answers, strict=True):
            for place, answer in zip(places, batch, strict=True):
                found[place] = answer
        return found

    def most(self, request: Request, number: int) -> int:
        """Sentences of a batch."""
        return max(1, min(self.batch_size, MOST_ROWS // request.rows))

    def answer_all(self, request: Request, batches: list[list[Part]]) -> Iterable[list[list[Hypothesis]]]:
        return (self.answer(request, batch) for batch in batches)

    @torch.inference_mode()
    def remember(self, batch: list[Part]) -> Memory:
        return self.model.encode(*padded(([*part.ids, EOS] for part in batch), self.device))

    def answer(self, request: Request, batch: list[Part]) -> list[list[Hypothesis]]:
        memory = self.remember(batch)
        options, prefixes = request.options, [part.prefix for part in batch]
        if isinstance(request, Alternatives):
            at_once = max(1, MOST_ROWS // options.beam)
            return alternatives(self.model, memory, request.num, options, prefixes=prefixes, at_once=at_once)
        if isinstance(request, Sample):
            seeds = [(request.seed, *part.place) for part in batch]
            return sample(self.model, memory, request.how, options, seeds=seeds, prefixes=prefixes)
        return search(self.model, memory, options, prefixes=prefixes)


class SeveralBatches(TorchEngine):
    """As many batches at once as there are threads, each on one core.

    The products of a time step are small: two cores that share each of them mostly wait for one another, two that
    have a batch each do not. A single sentence, too, is fastest on one.
    """

    def __init__(self, model: Seq2Seq, batch_size: int, threads: int) -> None:
        super().__init__(model, batch_size)
        self.threads = threads

    def most(self, request: Request, number: int) -> int:
        return max(1, min(super().most(request, number), -(-number // self.threads)))

    def answer_all(self, request: Request, batches: list[list[Part]]) -> Iterable[list[list[Hypothesis]]]:
        longest_first = [self.workers.submit(self.answer, request, batch) for batch in reversed(batches)]
        try:
            return [found.result() for found in reversed(longest_first)]
        except BaseException:  # Ctrl-C: the batches that nobody waits for are not begun
            for waiting in longest_first:
                waiting.cancel()
            raise

    @cached_property
    def workers(self) -> ThreadPoolExecutor:
        """Each with one thread of torch; who asks keeps all of them."""
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
    """For the thread that calls it."""
    torch.get_num_threads()  # a thread takes the number of all others when it first asks: so ask before, not after
    torch.set_num_threads(1)


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
