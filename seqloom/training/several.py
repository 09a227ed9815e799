"""Several processes, connected by torch.distributed: parts of a step, gradients, weights, clock and signals."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from seqloom.errors import TrainingError
from seqloom.training.clock import Clock
from seqloom.training.ordered_sum import OrderedSum
from seqloom.training.processes import ALONE, Item, OneProcess, Pause, ProcessLost, Sums
from seqloom.training.signals import SharedStop, StopFlag
from seqloom.training.tensor_stream import TensorStream, kind_of
from seqloom.training.world import World, default_threads

if TYPE_CHECKING:
    from seqloom.training.objective import Carrier

LONGEST_WAIT = timedelta(days=30)  # process 0 may prepare data for hours; a process that ends is noticed at once


class Several(OneProcess):
    """One of several processes, connected by torch.distributed: gloo between CPUs, NCCL between GPUs."""

    def __init__(self, world: World, store: Any) -> None:
        self.world, self.store = world, store
        self.task: Carrier | None = None
        self.sent: list[tuple[dist.Work | None, Tensor]] = []  # tensors stay until they have been sent
        self.seconds = 0.0  # spent in exchanging, waiting for slower processes included

    def computes(self, part: int) -> bool:
        return part % self.world.size == self.world.rank

    def watch(self, model: nn.Module, task: "Carrier | None", clock: Clock, stop: StopFlag) -> None:
        assert isinstance(stop, SharedStop)
        self.task = task if task and task.carries else None
        self.clock, self.stop = clock, stop
        self.sum = OrderedSum(model, self.world)
        self.agree()

    def take_state(self, part: int) -> None:
        if self.task and part:  # the state before part 0 came at the end of the last step
            with self.reached():
                self.task.restore_carried(load(self.receive((part - 1) % self.world.size, part)))

    def hand_on_state(self, part: int, parts: int) -> None:
        if self.task and part + 1 < parts:
            with self.reached():
                self.send(packed(self.task.carried()), (part + 1) % self.world.size, part + 1)

    def send(self, content: bytes, to: int, tag: int) -> None:
        """Send without waiting: a process that waited here would keep back the gradients that the other waits for."""
        blob = as_tensor(content)
        for number, tensor in enumerate((torch.tensor([len(blob)]), blob)):
            self.sent.append((dist.isend(tensor, to, tag=2 * tag + number), tensor))

    def receive(self, source: int, tag: int) -> bytes:
        size = torch.zeros(1, dtype=torch.int64)
        dist.recv(size, source, tag=2 * tag)
        blob = torch.empty(int(size), dtype=torch.uint8)
        dist.recv(blob, source, tag=2 * tag + 1)
        return as_bytes(blob)

    def add_gradients(self, part: int, parts: int) -> None:
        place = part % self.world.size  # of the part in its round
        if place + 1 == self.world.size or part + 1 == parts:
            with self.reached():
                self.sum.add(place + 1)

    def updates(self, parameter: nn.Parameter) -> bool:
        return id(parameter) in self.sum.is_own

    def end_step(self, sums: Sums, parts: int) -> tuple[Sums, Tensor | None]:
        with self.reached():
            for work, _ in self.sent:
                if work:
                    work.wait()
            self.sent.clear()
            if self.task:
                last = (parts - 1) % self.world.size
                content = packed(self.task.carried()) if self.world.rank == last else b""
                self.task.restore_carried(load(self.spread(content, last)))
        most = -(-parts // self.world.size)  # parts of the process that has the most
        numbers = [number for pair in sums for number in pair] + [0.0, 0.0] * (most - len(sums))
        rows = self.share([*numbers, *self.sum.describe()])
        norms = self.sum.settle([row[len(numbers) :] for row in rows])
        every = []
        for part in range(parts):
            turn, process = divmod(part, self.world.size)
            nll, tokens = rows[process][2 * turn : 2 * turn + 2]
            every.append((nll, int(tokens)))
        return every, norms

    def hand_out_weights(self) -> None:
        with self.reached():
            self.sum.hand_out()

    def gathered(self, tensors: dict[str, Tensor]) -> TensorStream | None:
        kinds = self.merged({self.world.rank: {key: kind_of(tensor) for key, tensor in tensors.items()}})
        owners = {key: owner for owner, own in kinds.items() for key in own}
        if self.first:

            def take(key: str) -> Tensor:
                if key in tensors:
                    return tensors[key]
                dtype, shape = kinds[owners[key]][key]
                arriving = torch.empty(shape, dtype=getattr(torch, dtype))
                with self.reached():
                    dist.recv(arriving.view(-1), owners[key], tag=1)
                return arriving

            return TensorStream(
                {key: (kind[0], tuple(kind[1])) for own in kinds.values() for key, kind in own.items()}, take
            )
        with self.reached():
            for key in sorted(tensors):
                dist.send(tensors[key].detach().cpu().reshape(-1), 0, tag=1)
        return None

    def agree(self) -> None:
        self.share([])

    def share(self, numbers: list[float]) -> list[list[float]]:
        """Return the numbers of every process; with them travel the clock of process 0 and all signals."""
        mine = torch.tensor([self.stop.heard, self.clock.own_seconds(), *numbers], dtype=torch.float64)
        with self.reached():
            every = [torch.empty_like(mine) for _ in range(self.world.size)]
            dist.all_gather(every, mine)
        rows: list[list[float]] = [row.tolist() for row in every]
        self.stop.signal = int(max(row[0] for row in rows))
        self.clock.agreed = rows[0][1]
        return [row[2:] for row in rows]

    def dealt(self, items: Sequence[Item], pause: Pause, alone: bool = False) -> Iterator[tuple[int, Item]]:
        stride = 1 if alone else self.world.size
        for begin in range(0, len(items), stride):
            self.agree()
            pause()
            number = begin + self.world.rank
            if self.world.rank < stride and number < len(items):
                yield number, items[number]

    def merged(self, found: dict[int, Any]) -> dict[int, Any]:
        with self.reached():
            parts = [self.spread(json.dumps(found).encode(), source) for source in range(self.world.size)]
        every = {int(number): value for part in parts for number, value in json.loads(part).items()}
        return super().merged(every)

    def from_first(self, value: Any) -> Any:
        with self.reached():
            return json.loads(self.spread(json.dumps(value).encode(), 0))

    def spread(self, content: bytes, source: int) -> bytes:
        """Return the bytes of one process to all."""
        blob = as_tensor(content)
        size = torch.tensor([len(blob)])
        dist.broadcast(size, source)
        if self.world.rank != source:
            blob = torch.empty(int(size), dtype=torch.uint8)
        dist.broadcast(blob, source)
        return as_bytes(blob)

    def copy_weights(self, model: nn.Module) -> None:
        with self.reached():
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor.detach(), 0)

    def wait(self) -> None:
        with self.reached():
            dist.barrier()

    def figures(self) -> dict[str, float]:
        seconds, self.seconds = self.seconds, 0.0
        return {"exchange_seconds": round(seconds, 4)}

    def claim_word(self) -> bool:
        try:
            return bool(self.store.add("told", 1) == 1)
        except RuntimeError:  # the store was in a process that has ended
            return True

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Count the time, and turn a lost connection into an error for people."""
        began = time.monotonic()
        try:
            yield
        except RuntimeError as error:
            raise ProcessLost(
                f"process {self.world.rank} of {self.world.size} lost the others: one has ended, or its machine cannot "
                "be reached."
            ) from error
        finally:
            self.seconds += time.monotonic() - began


def packed(tensors: dict[str, Tensor]) -> bytes:
    return save(
        {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    )


def as_tensor(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content or b"\0"), dtype=torch.uint8)


def as_bytes(blob: Tensor) -> bytes:
    return blob.numpy().tobytes()


@contextmanager
def connected(world: World) -> Iterator[OneProcess]:
    """Connect the processes of this run; with one there is nothing to connect."""
    if world.size == 1:
        yield ALONE
        return
    os.environ.setdefault("RAYON_NUM_THREADS", str(default_threads(world)))  # of the tokenizers; else: every core
    on_gpus = torch.cuda.is_available()
    if on_gpus:
        torch.cuda.set_device(world.local_rank % torch.cuda.device_count())
    try:
        store, rank, size = next(iter(rendezvous("env://", timeout=timedelta(minutes=10))))
        if world.local_size == world.size:  # torchrun keeps its store: after a restart it has addresses of the dead
            store = dist.PrefixStore(f"attempt_{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)  # type: ignore[attr-defined]
        backend = "cpu:gloo,cuda:nccl" if on_gpus else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=LONGEST_WAIT)
    except (RuntimeError, ValueError) as error:
        raise TrainingError(
            f"process {world.rank} of {world.size} could not meet the others: {str(error).splitlines()[0]}. Check "
            "MASTER_ADDR and MASTER_PORT, or the --rdzv-endpoint of torchrun, and that the machines reach each other."
        ) from None
    try:
        yield Several(world, store)
    finally:
        dist.destroy_process_group()
