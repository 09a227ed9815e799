"""Sum the gradients of a step's parts in the order of parts, whichever process computed which.

Each parameter has an owner among the processes. The owner adds its gradients, keeps its optimizer state, updates it and
hands out the new weights:

    each round     every process sends the gradients of its part to their owners; those add them in the order of parts
    end of step    every owner updates its parameters and sends them to all others

So the state of the optimizer is spread over the processes. A parameter is never cut between two owners: a kernel may
round otherwise at another place of a tensor, and the update has to be that of one process.

A ring would add in another order for every number of processes, and so round differently. For P parameters, V parts and
W processes, a process sends (V / W + 1) (W - 1) / W P numbers per step; a ring sends 2 (W - 1) / W P.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from seqloom.training.world import World

AT_ONCE = 2**23  # numbers that a process receives at once, from all others together
LEAST = 2**16


class Piece(NamedTuple):
    """Some of the numbers of one parameter."""

    parameter: int
    begin: int
    end: int


Parcel = list[Piece]  # what is sent at once: a piece of a large parameter, or several small ones


class OrderedSum:
    def __init__(self, model: nn.Module, world: World) -> None:
        self.world = world
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        sizes = [parameter.numel() for parameter in self.parameters]
        self.owners = deal_out(sizes, world.size)
        most = max(LEAST, AT_ONCE // world.size)
        self.parcels = [
            pack({number: sizes[number] for number, its in enumerate(self.owners) if its == owner}, most)
            for owner in range(world.size)
        ]
        self.turns = max(map(len, self.parcels))
        own = [number for number, owner in enumerate(self.owners) if owner == world.rank]
        self.totals = {number: torch.empty_like(self.parameters[number].detach()) for number in own}
        self.is_own = {id(self.parameters[number]) for number in own}
        self.rounds = 0  # of this step
        self.has_gradient = [False] * len(sizes)  # from a part of this process

    @torch.no_grad()
    def add(self, parts: int) -> None:
        """Add the gradients of one round, in which the first `parts` processes have computed one part each."""
        started = self.start(0, parts)
        for turn in range(self.turns):
            following = self.start(turn + 1, parts)  # travels while these are added
            self.add_parcel(turn, parts, *started)
            started = following
        for number, parameter in enumerate(self.parameters):
            self.has_gradient[number] |= parameter.grad is not None
            parameter.grad = None
        self.rounds += 1

    def start(self, turn: int, parts: int) -> tuple[list[dist.Work], dict[int, Tensor], list[Tensor]]:
        """Begin to send and to receive one parcel per owner: what arrives by its process, and what is on its way."""
        rank, received = self.world.rank, dict[int, Tensor]()
        sent: list[Tensor] = []
        orders: list[dist.P2POp] = []
        for owner, parcels in enumerate(self.parcels):
            if turn >= len(parcels):
                continue
            if owner != rank and rank < parts:
                sent.append(self.gradients(parcels[turn]))
                orders.append(dist.P2POp(dist.isend, sent[-1], owner))
            for source in range(parts) if owner == rank else ():
                if source != rank:
                    received[source] = self.parameters[0].new_empty(sum(p.end - p.begin for p in parcels[turn]))
                    orders.append(dist.P2POp(dist.irecv, received[source], source))
        return (dist.batch_isend_irecv(orders) if orders else []), received, sent

    def add_parcel(
        self, turn: int, parts: int, works: list[dist.Work], received: dict[int, Tensor], sent: list[Tensor]
    ) -> None:
        for work in works:
            work.wait()
        sent.clear()
        own = self.parcels[self.world.rank]
        for source in range(parts) if turn < len(own) else ():
            gradients = received[source] if source != self.world.rank else self.gradients(own[turn])
            for piece, gradient in zip(own[turn], cut(gradients, own[turn]), strict=True):
                total = self.totals[piece.parameter].view(-1)[piece.begin : piece.end]
                if source == 0 and not self.rounds:
                    total.copy_(gradient)
                else:
                    total += gradient

    def gradients(self, parcel: Parcel) -> Tensor:
        """Return the gradients of a parcel in one row; zeros for a parameter that this part did not use."""
        rows = []
        for number, begin, end in parcel:
            gradient = self.parameters[number].grad
            row = gradient.reshape(-1)[begin:end] if gradient is not None else None
            rows.append(self.parameters[number].new_zeros(end - begin) if row is None else row)
        return rows[0] if len(rows) == 1 else torch.cat(rows)

    def describe(self) -> list[float]:
        """Return what the others need to know: 1 for each parameter with a gradient here, and the norms of the sums."""
        norms = [0.0] * len(self.parameters)
        found = torch._foreach_norm([*self.totals.values()]) if self.totals else []
        for number, norm in zip(self.totals, found, strict=True):
            norms[number] = norm.item()
        return [*map(float, self.has_gradient), *norms]

    def settle(self, described: Sequence[Sequence[float]]) -> Tensor:
        """Give the sums to the own parameters as their gradients; return the norms of all, in order.

        A parameter that no part used gets none, as with one process, where the optimizer then leaves it alone.
        """
        used = [any(row[number] for row in described) for number in range(len(self.parameters))]
        for number, total in self.totals.items():
            self.parameters[number].grad = total if used[number] else None
        self.rounds, self.has_gradient = 0, [False] * len(self.parameters)
        norms = [
            described[owner][len(self.parameters) + number] for number, owner in enumerate(self.owners) if used[number]
        ]
        return self.parameters[0].new_tensor(norms)

    @torch.no_grad()
    def hand_out(self) -> None:
        """Send the updated weights of each owner to all."""
        for turn in range(self.turns):
            works: list[dist.Work] = []
            arriving: list[tuple[Parcel, Tensor]] = []
            for owner, parcels in enumerate(self.parcels):
                if turn < len(parcels):
                    rows = [
                        self.parameters[number].detach().view(-1)[begin:end] for number, begin, end in parcels[turn]
                    ]
                    content = rows[0] if len(rows) == 1 else torch.cat(rows)
                    works.append(dist.broadcast(content, owner, async_op=True))
                    arriving += [(parcels[turn], content)] if len(rows) > 1 and owner != self.world.rank else []
            for work in works:
                work.wait()
            for parcel, content in arriving:
                for (number, begin, end), row in zip(parcel, cut(content, parcel), strict=True):
                    self.parameters[number].detach().view(-1)[begin:end] = row


def cut(row: Tensor, parcel: Parcel) -> Sequence[Tensor]:
    return row.split([piece.end - piece.begin for piece in parcel])


def deal_out(sizes: Sequence[int], owners: int) -> list[int]:
    """Choose the owner of each parameter: the largest first, each to the owner that has the fewest numbers yet."""
    load, chosen = [0] * owners, [0] * len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        chosen[number] = min(range(owners), key=load.__getitem__)
        load[chosen[number]] += sizes[number]
    return chosen


def pack(sizes: dict[int, int], most: int) -> list[Parcel]:
    """Put parameters into parcels of at most so many numbers; a large one is cut, several small ones share a parcel."""
    parcels: list[Parcel] = []
    room = 0
    for number, size in sizes.items():
        for begin in range(0, size, most):
            piece = Piece(number, begin, min(begin + most, size))
            if piece.end - begin > room:
                parcels.append([])
                room = most
            parcels[-1].append(piece)
            room -= piece.end - begin
    return parcels
