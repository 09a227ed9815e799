"""Positional encodings: sinusoids by their formula, rotary ones as rotations of complex numbers, none as nothing."""

import math

import pytest
import torch

from seqloom.errors import UsageError
from seqloom.nn.multihead import rotate
from seqloom.nn.positions import POSITIONS, reach

D, K, L = 6, 4, 8  # width, width of a head, places known


def make(name: str):
    torch.manual_seed(0)
    return POSITIONS[name](D, K, L).double()


def test_sinusoids_are_their_formula() -> None:
    added = make("sinusoidal").add(torch.zeros(1, 3, D, dtype=torch.float64), 2)[0]
    for i in range(3):
        for j in range(D // 2):
            angle = (2 + i) / 10000 ** (2 * j / D)
            assert added[i, 2 * j : 2 * j + 2].tolist() == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)


def test_rotary_turns_pairs_as_complex_numbers() -> None:
    x = torch.randn(2, 3, 5, K, dtype=torch.float64)
    got = rotate(x, make("rotary").rotation(2, 5))
    for i in range(5):
        for j in range(K // 2):
            number = torch.complex(x[:, :, i, 2 * j], x[:, :, i, 2 * j + 1])
            angle = torch.tensor((2 + i) / 10000 ** (2 * j / K))
            want = number * torch.polar(torch.ones(()), angle)
            pair = torch.complex(got[:, :, i, 2 * j], got[:, :, i, 2 * j + 1])
            torch.testing.assert_close(pair, want, atol=1e-6, rtol=0)


def test_rotary_products_know_the_distance_alone() -> None:
    q, k = torch.randn(2, 1, 1, 1, K, dtype=torch.float64)
    rotary = make("rotary")

    def product(i: int, j: int) -> float:
        return float((rotate(q, rotary.rotation(i, 1)) * rotate(k, rotary.rotation(j, 1))).sum())

    assert product(1, 4) == pytest.approx(product(3, 6), abs=1e-6)
    assert product(1, 4) != pytest.approx(product(1, 5), abs=1e-3)


@pytest.mark.parametrize("name", ["sinusoidal", "rotary"])
def test_they_know_no_end(name: str) -> None:
    """Beyond the table as within it."""
    short, long = make(name), POSITIONS[name](D, K, 50).double()
    x = torch.zeros(1, 7, D, dtype=torch.float64)
    assert torch.equal(short.add(x, 20), long.add(x, 20))
    assert name == "sinusoidal" or torch.equal(short.rotation(20, 7), long.rotation(20, 7))


def test_learned_ones_end_with_what_they_learned() -> None:
    with pytest.raises(UsageError, match=r"needs 9 positions and this model has 8"):
        make("learned").add(torch.zeros(1, 2, D, dtype=torch.float64), 7)


def test_none_tells_nothing() -> None:
    x = torch.randn(1, 3, D, dtype=torch.float64)
    none = make("none")
    assert torch.equal(none.add(x, 5), x)
    assert none.rotation(5, 3) is None
    assert not list(none.parameters())


def test_rotary_wants_pairs() -> None:
    with pytest.raises(UsageError, match="even"):
        POSITIONS["rotary"](9, 3, L)


@pytest.mark.parametrize(("name", "places"), [("sinusoidal", 20), ("rotary", 20), ("learned", L)])
def test_a_table_is_made_longer_where_a_formula_says_how(name: str, places: int) -> None:
    positions = make(name)
    before = positions.table.clone()
    reach(positions, 20)
    assert len(positions.table) == places
    assert torch.equal(positions.table[:L], before)
    reach(positions, 3)
    assert len(positions.table) == places  # and never shorter
