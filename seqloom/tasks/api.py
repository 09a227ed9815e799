"""The contract of a task: which batches it reads, and the loss of a model on one batch.

Training loop, checkpoints and validation are the same for all tasks. A model gives a `hidden` vector for each position,
its output layer turns it into logits, and the loss is

    loss = - sum_i log p(y_i)      over the positions with an answer only
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from seqloom.data.batch import Batch, StoreBatches
from seqloom.data.store import Store
from seqloom.models.api import Reader, Seq2Seq
from seqloom.nn.loss import Loss, output_loss


class Task:
    """Base class of all tasks: reads batches of a store by token budget; carries no state between batches."""

    carries = False  # whether a batch begins with the state at the end of the one before it

    def know_pieces(self, pieces: Sequence[str]) -> None:
        """Takes the readable form of each source token, for tasks that need the spelling of tokens."""

    def batches(self, store: Store, batch_tokens: int, seed: int) -> Any:
        """The epochs of batches that the training loop reads (`training.loop.Batches`)."""
        return StoreBatches(store, batch_tokens, seed, self.load)

    def load(self, store: Store, indices: Any) -> Batch:
        """The batch of these records."""
        raise NotImplementedError

    def loss(self, model: nn.Module, batch: Any, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        """The loss summed over the batch; `progress` of the run is from 0 to 1, for losses that change over a run."""
        raise NotImplementedError

    def carried(self) -> dict[str, Tensor]:
        """State that the next step needs beside weights, optimizer and RunState; saved with every checkpoint."""
        return {}

    def restore_carried(self, tensors: dict[str, Tensor]) -> None:
        """Restore the carried state from a checkpoint."""

    def drop_carried(self) -> None:
        """Forget the carried state, because the step that it comes from went wrong."""


def token_loss(
    model: Seq2Seq | Reader, hidden: Tensor, targets: Tensor, smoothing: float = 0.0, first: int = 0
) -> Loss:
    """Cross-entropy of hidden (M, D) against targets (M,).

    `first`: the smallest id that can be an answer; ids below it get no probability.
    """
    output = model.output
    smoothed, nll = output_loss(hidden, output.weight[first:], output.bias[first:], targets - first, smoothing)
    return Loss(smoothed, nll, len(targets))
