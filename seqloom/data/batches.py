"""A store and a sampler as the epochs of batches that a training loop asks for."""

from collections.abc import Callable

from seqloom.data.batch import Batch, collate
from seqloom.data.sampler import Indices, Plan, Sampler
from seqloom.data.store import Store


class StoreBatches:
    def __init__(
        self,
        store: Store,
        batch_tokens: int,
        seed: int,
        read: Callable[[Store, Indices], Batch] = collate,
    ) -> None:
        self.store, self.read = store, read
        lengths = (store.source_lengths, store.target_lengths)
        self.sampler = Sampler(*lengths, batch_tokens, seed, store.corpora, store.weights)
        self.latest = (0, self.sampler.epoch(0))

    def epoch(self, number: int) -> Plan:
        """The plan of an epoch; the latest is kept, as ten million pairs take seconds to plan."""
        if self.latest[0] != number:
            self.latest = (number, self.sampler.epoch(number))
        return self.latest[1]

    def load(self, indices: Indices) -> Batch:
        return self.read(self.store, indices)

    def where(self, indices: Indices) -> list[str]:
        """`file:line` of each pair of a batch."""
        return [self.store.where(int(index)) for index in indices]
