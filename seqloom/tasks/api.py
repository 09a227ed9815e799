"""What every task says of itself: which batches it reads, and what loss a model has on one.

The loop, the checkpoints and the validation are the same for all. A model gives `hidden` vectors where something is to
be said, `project` makes logits of them, and the loss is

    loss = - sum_i log p(y_i)      over the places that count, and no others
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from seqloom.data.batch import Batch
from seqloom.data.batches import StoreBatches
from seqloom.data.store import Store
from seqloom.nn.loss import Loss, cross_entropy

LOGITS_AT_ONCE = 2**22  # 16 MB of logits stay in the cache from the product to the softmax


class Speaker(Protocol):
    """Any model: it makes logits over its vocabulary of hidden vectors."""

    target_vocab_size: int

    def project(self, hidden: Tensor) -> Tensor: ...


class Task:
    """The base of all tasks: batches of a store by token budget, nothing carried from one to the next."""

    def know_pieces(self, pieces: Sequence[str]) -> None:
        """The source's vocabulary as a person reads it, for a task that looks at the spelling of tokens."""

    def batches(self, store: Store, batch_tokens: int, seed: int) -> Any:
        """Epochs of batches, as the loop wants them (`train.loop.Batches`)."""
        return StoreBatches(store, batch_tokens, seed, self.load)

    def load(self, store: Store, indices: Any) -> Batch:
        """The batch of these records."""
        raise NotImplementedError

    def loss(self, model: nn.Module, batch: Any, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        """Sums over the batch; `progress` of the run, from 0 to 1, for what changes on the way."""
        raise NotImplementedError

    def carried(self) -> dict[str, Tensor]:
        """What the next step depends on beside weights, optimizer and RunState: saved with every checkpoint."""
        return {}

    def carry_on(self, tensors: dict[str, Tensor]) -> None:
        """The opposite, from a checkpoint."""

    def drop_carried(self) -> None:
        """What is carried is of a step that went wrong: begin anew."""


def token_loss(model: Speaker, hidden: Tensor, targets: Tensor, smoothing: float = 0.0, first: int = 0) -> Loss:
    """Cross-entropy of hidden (M, D) against targets (M,), the logits a part at a time.

    `first`: the smallest id that can be an answer; those before it have no share in the probability.
    """
    rows = max(1, LOGITS_AT_ONCE // model.target_vocab_size)
    losses = [
        cross_entropy(part, wanted - first, smoothing)
        for part, wanted in zip(logits_of(model, hidden.split(rows), first), targets.split(rows), strict=True)
    ]
    smoothed, nll = (torch.stack(sums).sum() for sums in zip(*losses, strict=True))
    return Loss(smoothed, nll, len(targets))


def logits_of(model: Speaker, parts: Sequence[Tensor], first: int) -> Iterator[Tensor]:
    """Cut only where there is something to cut: the gradient of a cut is one more tensor of their size."""
    for part in parts:
        logits = model.project(part)
        yield logits[:, first:] if first else logits
