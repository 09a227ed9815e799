"""Every score against its equation, one query and key at a time; pooling as a lookup; padding at exactly zero."""

import math

import pytest
import torch
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.nn.late_weight_gradients import Late
from seqloom.nn.scores import SCORES, Score, attend
from seqloom.nn.trace import Trace

B, W, S, Q, K, A = 2, 3, 4, 5, 6, 7
EQUATIONS = {
    "dot": lambda score, q, k: q @ k,
    "scaled_dot": lambda score, q, k: q @ k / math.sqrt(len(k)),
    "gaussian": lambda score, q, k: -((q - k) ** 2).sum() / 2,
    "bilinear": lambda score, q, k: q @ score.M.weight @ k / len(q) ** 0.5,
    "additive": lambda score, q, k: score.w @ torch.tanh(score.W_q.weight @ q + score.W_k.weight @ k + score.W_k.bias),
}


def make(name: str) -> tuple[Score, Tensor, Tensor]:
    torch.manual_seed(0)
    key_size = Q if SCORES[name].entrywise else K
    score = SCORES[name](Q, key_size, A).double()
    return score, torch.randn(B, W, Q, dtype=torch.float64), torch.randn(B, S, key_size, dtype=torch.float64)


@pytest.mark.parametrize("name", SCORES)
def test_each_is_its_equation(name: str) -> None:
    score, queries, keys = make(name)
    assert name in EQUATIONS, f"a new score: write the equation of {name!r} into EQUATIONS of this file"
    want = [[[EQUATIONS[name](score, q, k).item() for k in keys[b]] for q in queries[b]] for b in range(B)]
    got = score(queries, score.project_keys(keys))
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64))
    torch.testing.assert_close(score(queries, score.project_keys(keys), Late().linear), got)


@pytest.mark.parametrize("name", SCORES)
def test_query_and_key_of_other_widths(name: str) -> None:
    if SCORES[name].entrywise:
        with pytest.raises(UsageError, match=r"5 and 6.*bilinear or the additive"):
            SCORES[name](Q, K, A)
    else:
        assert SCORES[name](Q, K, A)


@pytest.mark.parametrize("name", SCORES)
def test_one_query_and_one_key_more_change_nothing_for_the_others(name: str) -> None:
    score, queries, keys = make(name)
    whole = score(queries, score.project_keys(keys))
    part = score(queries[:, :2], score.project_keys(keys[:, :3]))
    torch.testing.assert_close(part, whole[:, :2, :3])


def test_pooling_looks_a_value_up_by_its_key() -> None:
    """A table of four keys and values: a sharp score returns the value of the key that is the query."""
    keys = torch.eye(4, dtype=torch.float64)[None]  # (1, 4, 4)
    values = torch.tensor([[[10.0, 1.0], [20.0, 2.0], [30.0, 3.0], [40.0, 4.0]]], dtype=torch.float64)
    score = SCORES["dot"](4, 4, 4)
    wanted = torch.tensor([2, 0, 3])
    everything = torch.ones(1, 4, dtype=torch.bool)
    sharp = attend(score(100 * keys[:, wanted], keys), values, everything)
    torch.testing.assert_close(sharp, values[:, wanted])
    blunt = attend(score(0 * keys[:, wanted], keys), values, everything)
    torch.testing.assert_close(blunt, values.mean(1, keepdim=True).expand(1, 3, 2))


def test_hidden_keys_have_weight_exactly_zero() -> None:
    scores = torch.full((2, 1, 3), 50.0).double()
    values = torch.tensor([[[1.0], [2.0], [1e300]]], dtype=torch.float64).expand(2, 3, 1)
    mask, trace = torch.tensor([[True, True, False], [True, False, False]]), Trace()
    pooled = attend(scores, values, mask, trace=trace.under("decoder"))
    assert pooled.flatten().tolist() == [1.5, 1.0]
    assert trace["decoder.attention"][0].tolist() == [[[0.5, 0.5, 0.0]], [[1.0, 0.0, 0.0]]]
