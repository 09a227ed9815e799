"""A late product equals F.linear in value and gradient; each matrix gets its gradient from one product."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from seqloom.nn.late_weight_gradients import Collect, Late, multiply, this_pass

T, B, W, I, O = 4, 3, 2, 5, 6  # noqa: E741 (input and output)


def random(*sizes: int, seed: int = 0) -> Tensor:
    return torch.randn(*sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def loop(linear: Callable[[Tensor, Tensor], Tensor], x: Tensor, weight: Tensor, slices: Tensor) -> Tensor:
    """A recurrence that uses one matrix whole and another in two slices taken anew in each step."""
    total = x.new_zeros(())
    for _ in range(T):
        y = torch.tanh(linear(x, weight))
        x = torch.sin(linear(y, slices[:I])) + linear(y, slices[I:])
        total = total + (x**2).sum()
    return total


def test_values_and_gradients_of_weights() -> None:
    given = [random(B, I), random(O, I, seed=1), random(2 * I, O, seed=2)]
    want = loop(F.linear, *given)
    got = loop(Late().linear, *given)
    assert torch.equal(got, want)
    for ours, theirs in zip(torch.autograd.grad(got, given), torch.autograd.grad(want, given), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_values_and_gradients_of_one_matrix_a_sentence() -> None:
    """Queries (B,W,I) against keys (B,O,I), and back through the same keys as values."""

    def steps(linear: Callable[[Tensor, Tensor], Tensor], query: Tensor, keys: Tensor) -> Tensor:
        for _ in range(T):
            query = torch.tanh(linear(linear(query, keys), keys.mT))
        return (query**2).sum()

    given = [random(B, W, I), random(B, O, I, seed=1)]
    got, want = steps(Late().linear, *given), steps(lambda x, keys: x @ keys.mT, *given)
    torch.testing.assert_close(got, want)
    for ours, theirs in zip(torch.autograd.grad(got, given), torch.autograd.grad(want, given), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_three_axes_against_a_shared_weight() -> None:
    given = [random(B, W, I), random(O, I, seed=1)]
    got, want = Late().linear(*given), F.linear(*given)
    assert torch.equal(got, want)
    for ours, theirs in zip(
        torch.autograd.grad((got**2).sum(), given), torch.autograd.grad((want**2).sum(), given), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("frozen", [0, 1])
def test_only_one_of_both_wants_a_gradient(frozen: int) -> None:
    given = [random(B, I), random(O, I, seed=1)]
    given[frozen].requires_grad_(False)
    (ours,) = torch.autograd.grad((Late().linear(*given) ** 2).sum(), given[1 - frozen])
    (theirs,) = torch.autograd.grad((F.linear(*given) ** 2).sum(), given[1 - frozen])
    torch.testing.assert_close(ours, theirs)


def test_the_gradient_of_a_matrix_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    backward = Collect.backward
    monkeypatch.setattr(
        Collect, "backward", staticmethod(lambda ctx, d: calls.append(len(ctx.used[this_pass()])) or backward(ctx, d))
    )
    loop(Late().linear, random(B, I), random(O, I), random(2 * I, O)).backward()
    assert sorted(calls) == [T, T, T]


def test_a_second_backward_pass_over_the_same_graph() -> None:
    given = [random(B, I), random(O, I, seed=1), random(2 * I, O, seed=2)]
    total = loop(Late().linear, *given)
    once = torch.autograd.grad(total, given, retain_graph=True)
    again = torch.autograd.grad(total, given)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


def test_a_pass_that_wanted_another_gradient_is_not_counted() -> None:
    """It goes through every step and never comes to the matrix."""
    given = [random(B, I), random(O, I, seed=1), random(2 * I, O, seed=2)]
    total = loop(Late().linear, *given)
    want = torch.autograd.grad(loop(F.linear, *given), given)
    torch.autograd.grad(total, given[0], retain_graph=True)
    for ours, theirs in zip(torch.autograd.grad(total, given), want, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_an_unused_product_costs_no_gradient() -> None:
    x, weight, other = random(B, I), random(O, I, seed=1), random(O, I, seed=2)
    late = Late()
    late.linear(x, other)
    late.linear(x, weight).sum().backward()
    assert other.grad is None
    assert weight.grad is not None


def test_without_gradients_nothing_is_kept() -> None:
    late, given = Late(), [random(B, I), random(O, I)]
    with torch.no_grad():
        assert torch.equal(late.linear(*given), multiply(*given))
    assert not late.matrices
