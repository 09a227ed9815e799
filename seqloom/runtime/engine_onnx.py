"""The fast engine for recurrent models: their two graphs (formats/onnx_contract.py) on ONNX Runtime.

A time step is about twenty small operations. Torch takes longer to start each of them than to compute it; a graph that
was planned once does not. The search is the same as for every model, because the graphs keep the contract.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.errors import ModelError
from seqloom.models.api import Memory, Seq2Seq, State, select_rows
from seqloom.nn.trace import Trace
from seqloom.runtime.engine_torch import SeveralBatches
from seqloom.runtime.onnx_check import BadGraph
from seqloom.runtime.onnx_graph import OverBudget, open_graph
from seqloom.runtime.parts import Part

ANNOTATIONS, MASK = "memory.annotations", "memory.mask"


class OnnxEngine(SeveralBatches):
    name = "onnx"

    def __init__(self, folder: Path, vocab_size: int, batch_size: int, threads: int) -> None:
        super().__init__(GraphModel(folder, vocab_size), batch_size, threads)

    def lacks(self, request: SearchRequest, parts: Sequence[Part]) -> str:
        return "coverage_penalty, which reads the attention" if request.coverage_penalty else ""

    def answer(self, request: SearchRequest, batch: list[Part]) -> list[list[Hypothesis]]:
        """Answer a batch; one that needs more memory than graphs may have is answered in two halves."""
        try:
            return super().answer(request, batch)
        except OverBudget:
            if len(batch) == 1:
                raise
        half = len(batch) // 2
        return [*self.answer(request, batch[:half]), *self.answer(request, batch[half:])]


class GraphModel(Seq2Seq):
    """Two graphs behind the contract of a model. The step returns log p as `hidden`, so `project` does nothing.

    The encoder also returns the first state, which is kept in `memory.last`.
    """

    def __init__(self, folder: Path, vocab_size: int) -> None:
        super().__init__()
        self.target_vocab_size = vocab_size
        try:
            self.encoder = open_graph(folder / "encoder.onnx", threads=1)
            self.one_step = open_graph(folder / "step.onnx", threads=1)
        except BadGraph as error:
            raise ModelError(f"{folder}: not a graph that Seqloom has written: {error}.") from None
        except Exception as error:  # a different class for each fault of a file
            raise ModelError(f"{folder}: ONNX Runtime cannot load it: {error}") from None

    def encode(self, tokens: Tensor, mask: Tensor, trace: Trace | None = None) -> Memory:
        made = self.encoder.run({"tokens": tokens.numpy()})
        tensors = {name: torch.from_numpy(array) for name, array in made.items()}
        state = {name: tensor for name, tensor in tensors.items() if name.startswith("state.")}
        keys = {name: tensor for name, tensor in tensors.items() if name not in state}
        return Memory(keys.pop(ANNOTATIONS), mask, state, keys)

    def start(self, memory: Memory, beams: int = 1) -> State:
        return select_rows(memory.last, torch.arange(len(memory.mask)).repeat_interleave(beams))

    def step(self, tokens: Tensor, state: State, memory: Memory, trace: Trace | None = None) -> tuple[Tensor, State]:
        assert trace is None, "a graph records nothing"
        step, found = self.one_step, []
        known = {ANNOTATIONS: memory.annotations, MASK: memory.mask, **memory.keys}
        for token in tokens.unbind(1):
            given = {"token": token, **known, **state}
            made = step.run({name: given[name].numpy() for name in step.inputs})
            found.append(torch.from_numpy(made.pop("log_probs")))
            state = {name.removeprefix("next_"): torch.from_numpy(array) for name, array in made.items()}
        return found[0].unsqueeze(1) if len(found) == 1 else torch.stack(found, 1), state

    def project(self, hidden: Tensor) -> Tensor:
        return hidden
