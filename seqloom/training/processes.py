"""The processes of a run as the loop sees them: one, to which nothing of this costs anything, or several.

A step has V = train.accumulate parts, each a pure function of (seed, step, part). Of W processes, process p mod W
computes part p, and gradients are summed in the order of parts (ordered_sum.py):

    g = (((g_0 + g_1) + g_2) + ...) + g_{V-1}

So any number of processes makes the same weights, bit for bit. All processes hold the weights; each parameter is
updated by its owner, which alone has its optimizer state. Process 0 alone writes files. Whatever a process decides by
is the same in all: the clock is that of process 0, and a signal to any process counts once all know of it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from torch import Tensor, nn

from seqloom.errors import TrainingError
from seqloom.training.clock import Clock
from seqloom.training.signals import StopFlag
from seqloom.training.tensor_stream import TensorStream
from seqloom.training.world import World

if TYPE_CHECKING:
    from seqloom.training.objective import Carrier


Item = TypeVar("Item")
Pause = Callable[[], None]  # called between items; it raises to end them
Sums = list[tuple[float, int]]  # (negative log-likelihood, tokens) of each part


class ProcessLost(TrainingError):
    """Another process of the run has ended, or its machine cannot be reached."""


class OneProcess:
    """The only process of a run, and what several have in common with it."""

    world = World()

    @property
    def first(self) -> bool:
        """Whether this is process 0, which writes all files and talks to the user."""
        return self.world.rank == 0

    def computes(self, part: int) -> bool:
        """Whether this process computes this part of a step."""
        return True

    def watch(self, model: nn.Module, task: "Carrier | None", clock: Clock, stop: StopFlag) -> None:
        """Take what a step is shared by: the model, the task's carried state, the clock and the signals."""

    def take_state(self, part: int) -> None:
        """Receive the state that the part before this one carries over, when another process computed that."""

    def hand_on_state(self, part: int, parts: int) -> None:
        """Send the carried state to the process of the next part; before the backward pass, which takes longer."""

    def add_gradients(self, part: int, parts: int) -> None:
        """Add the gradients of a round of parts, when this part is the last of its round."""

    def updates(self, parameter: nn.Parameter) -> bool:
        """Whether this process updates a parameter."""
        return True

    def end_step(self, sums: Sums, parts: int) -> tuple[Sums, Tensor | None]:
        """Return the sums of all parts, in their order, and the norms of all gradients if some are elsewhere.

        Afterwards a process has the summed gradients of the parameters that it updates.
        """
        return sums, None

    def hand_out_weights(self) -> None:
        """Let all processes have the weights that each has updated."""

    def gathered(self, tensors: dict[str, Tensor]) -> TensorStream | None:
        """Return the tensors of all processes, one after the other, in process 0; the others send theirs to it."""
        return TensorStream.of(tensors)

    def agree(self) -> None:
        """Let all processes see the same clock and every signal."""

    def dealt(self, items: Sequence[Item], pause: Pause, alone: bool = False) -> Iterator[tuple[int, Item]]:
        """Yield the items of this process with their numbers. Every process calls `pause` equally often.

        alone: process 0 gets all, because each item needs the one before it.
        """
        for number, item in enumerate(items):
            pause()
            yield number, item

    def merged(self, found: dict[int, Any]) -> dict[int, Any]:
        """Return what all processes found, by number and in order; plain values."""
        return dict(sorted(found.items()))

    def from_first(self, value: Any) -> Any:
        """Return the value of process 0; a plain one."""
        return value

    def copy_weights(self, model: nn.Module) -> None:
        """Copy the weights of process 0 to all."""

    def wait(self) -> None:
        """Wait until all processes are here."""

    def figures(self) -> dict[str, float]:
        """Return what the log says of the exchange since the last call."""
        return {}

    def claim_word(self) -> bool:
        """Whether this process is the first that has an error to tell; the others end in silence."""
        return True


ALONE = OneProcess()
