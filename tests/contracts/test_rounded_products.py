"""Training with products in bfloat16: every model of the registry has nearly the gradients it has in float32."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.models.api import Seq2Seq
from seqloom.nn.loss import output_loss
from seqloom.text.vocabulary import PAD
from seqloom.training.precision import products_in

CPU = torch.device("cpu")


def loss_and_gradients(model: Seq2Seq, source: Tensor, target: Tensor, precision: str) -> tuple[Tensor, Tensor]:
    model = deepcopy(model).float().train()
    with products_in(precision, CPU):
        hidden = model.hidden(target[:, :-1], model.encode(source, source != PAD)).flatten(0, 1)
        loss, _ = output_loss(hidden, model.output.weight, model.output.bias, target[:, 1:].flatten(), 0.1)
    loss.backward()
    return loss.detach(), torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def test_loss_and_gradients_are_nearly_those_of_float32(model: Seq2Seq, source: Tensor, target: Tensor) -> None:
    """Eight bits of fraction: a product is right to about one part in 256."""
    loss, gradients = loss_and_gradients(model, source, target, "float32")
    rounded_loss, rounded = loss_and_gradients(model, source, target, "bfloat16")
    assert gradients.dtype == rounded.dtype == torch.float32
    assert not torch.equal(gradients, rounded)  # it was rounded at all
    torch.testing.assert_close(rounded_loss, loss, rtol=0.02, atol=0)
    assert (rounded - gradients).norm() < 0.15 * gradients.norm()  # eight entries a vector: errors hardly cancel


def test_recurrent_states_are_not_rounded(
    model: Seq2Seq, shape: dict[str, Any], source: Tensor, target: Tensor
) -> None:
    """What adds up over a sentence is float32: every tensor of the state that a step begins with and hands on."""
    if shape["kind"] != "rnn":
        pytest.skip("a Transformer's state is keys and values: products themselves")
    model = deepcopy(model).float().train()
    with products_in("bfloat16", CPU):
        memory = model.encode(source, source != PAD)
        first = model.start(memory)
        _, state = model.step(target[:, :1], first, memory)
    assert {tensor.dtype for tensor in tensors_of((first, state))} == {torch.float32}


def tensors_of(nest: object) -> list[Tensor]:
    if isinstance(nest, Tensor):
        return [nest]
    inner = nest.values() if isinstance(nest, dict) else nest if isinstance(nest, (tuple, list)) else ()
    return [tensor for part in inner for tensor in tensors_of(part)]
