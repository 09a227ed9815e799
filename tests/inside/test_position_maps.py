"""Maps of positional encodings equal their formulas."""

import numpy as np
import pytest

from seqloom.errors import UsageError

TEXT = "a cat sat"


def maps_of(model):
    (lane,) = model.explain(TEXT, views=["positions"]).lanes
    return {found.name: found for found in lane.maps}


def waves(length, width):
    i, j = np.arange(length)[:, None], np.arange(width // 2)
    angles = i / 10000 ** (2 * j / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, width)


def test_sinusoidal_encodings_are_shown_once_for_both_sides(load):
    maps = maps_of(load("transformer"))
    assert [*maps] == ["encoder.positions", "encoder.positions.similarity"]
    found = maps["encoder.positions"]
    assert (found.axes, found.shape) == (["position", "unit"], [64, 8])
    assert np.allclose(found.values, waves(64, 8), atol=1e-3)
    alike = maps["encoder.positions.similarity"]
    assert alike.axes == ["position", "position"]
    want = waves(64, 8) @ waves(64, 8).T / 4  # every row has length 2
    assert np.allclose(alike.values, want, atol=2e-3)
    assert np.allclose(np.diag(alike.values), 1, atol=1e-3)


def test_learned_encodings_are_the_tables_of_each_side(load):
    model = load("transformer", "model.positions=learned")
    maps = maps_of(model)
    assert [*maps] == [f"{part}.positions{end}" for part in ("encoder", "decoder") for end in ("", ".similarity")]
    for part, side in (("encoder", "source"), ("decoder", "target")):
        table = getattr(model.model, f"{side}_positions").table.detach().numpy()[:64]
        assert np.allclose(maps[f"{part}.positions"].values, table, atol=2e-3)


def test_rotary_encodings_are_as_wide_as_a_head(load):
    maps = maps_of(load("gpt language", "model.positions=rotary"))
    assert np.allclose(maps["decoder.positions"].values, waves(64, 4), atol=1e-3)
    i, j = np.arange(64)[:, None], np.arange(64)
    want = np.mean([np.cos((i - j) / 10000 ** (2 * k / 4)) for k in range(2)], 0)
    assert np.allclose(maps["decoder.positions.similarity"].values, want, atol=2e-3)


def test_a_learned_table_ends_where_it_ends(load):
    maps = maps_of(load("gpt language", "model.positions=learned"))
    assert maps["decoder.positions"].shape == [16, 8]


def test_without_positions_there_is_nothing_to_show(load):
    with pytest.raises(UsageError, match=r"model\.positions = none"):
        maps_of(load("transformer", "model.positions=none"))
    with pytest.raises(UsageError, match="models of kind transformer and gpt have it"):
        maps_of(load("rnn"))
