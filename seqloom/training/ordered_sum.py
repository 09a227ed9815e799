"""Sum the gradients of a step's parts in the order of parts, whichever process computed which.

The gradients of all parameters form one vector. Process w owns its w-th slice:

    each round     every process sends slice w of its part's gradient to process w; that adds them in order
    end of step    every process sends its finished slice to all others

A ring would add in another order for every number of processes, and so round differently. For P gradients, V parts and
W processes, a process sends (V / W + 1) (W - 1) / W P numbers per step; a ring sends 2 (W - 1) / W P.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn

from seqloom.training.world import World


class OrderedSum:
    def __init__(self, model: nn.Module, world: World) -> None:
        self.world = world
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.sizes = [parameter.numel() for parameter in self.parameters]
        # After the gradients come as many marks, 1 = has a gradient: a parameter that no part used gets none, as with
        # one process, where the optimizer then leaves it alone.
        numbers = sum(self.sizes) + len(self.sizes)
        self.slice = -(-numbers // world.size)
        like = self.parameters[0].detach()
        self.vector = like.new_zeros(self.slice * world.size)
        self.received = like.new_zeros(self.slice * world.size)
        self.total = like.new_zeros(self.slice)

    def views(self) -> list[Tensor]:
        """Return the gradients in the vector, each in the shape of its parameter."""
        pieces = self.vector[: sum(self.sizes)].split(self.sizes)
        return [piece.view(parameter.shape) for piece, parameter in zip(pieces, self.parameters, strict=True)]

    def marks(self) -> Tensor:
        begin = sum(self.sizes)
        return self.vector[begin : begin + len(self.sizes)]

    @torch.no_grad()
    def add(self, parts: int) -> None:
        """Add the gradients of one round, in which the first `parts` processes have computed one part each."""
        has_part = self.world.rank < parts
        if has_part:
            self.collect()
        sent = [self.slice if has_part else 0] * self.world.size
        got = [self.slice] * parts + [0] * (self.world.size - parts)
        received, vector = self.received[: sum(got)], self.vector[: sum(sent)]
        dist.all_to_all_single(received, vector, got, sent)
        for slice in received.split(self.slice):
            self.total += slice

    def collect(self) -> None:
        """Copy the gradients of a part into the vector, and leave zeros for the next part."""
        gradients = [parameter.grad for parameter in self.parameters]
        for view, gradient in zip(self.views(), gradients, strict=True):
            view.zero_() if gradient is None else view.copy_(gradient)
        self.marks().copy_(torch.tensor([gradient is not None for gradient in gradients]))
        if there := [gradient for gradient in gradients if gradient is not None]:
            torch._foreach_zero_(there)

    @torch.no_grad()
    def spread(self) -> None:
        """Give every process the sums, as the gradients of its parameters."""
        dist.all_gather(list(self.vector.split(self.slice)), self.total)
        self.total.zero_()
        for parameter, view, mark in zip(self.parameters, self.views(), self.marks().tolist(), strict=True):
            if mark and parameter.grad is None:
                parameter.grad = torch.empty_like(parameter)
            if parameter.grad is not None:
                parameter.grad.copy_(view)
