"""The explain document: arrays survive, a foreign document is refused, the schema is the types'."""

import json

import numpy as np
import pytest

from seqloom.errors import DataError
from seqloom.explain.document import (
    VERSION,
    VIEWS,
    Explained,
    Lane,
    Map,
    Side,
    Token,
    schema,
)
from seqloom.explain.points import Curve, Path, Phrase, Phrases


def lane(**parts):
    return Lane(
        "m",
        "translate",
        "rnn",
        Side("ab", [Token(5, "ab", (0, 2)), Token(3, "</s>")]),
        None,
        False,
        None,
        None,
        [],
        ["x"],
        **parts,
    )


@pytest.mark.parametrize(("dtype", "error"), [("float32", 0), ("float16", 2e-3), ("uint8", 4 / 255 / 2 + 1e-6)])
def test_an_array_survives_the_file(dtype, error):
    values = np.linspace(-1, 3, 12).reshape(3, 4).astype(np.float32)
    document = Explained(lanes=[lane(maps=[Map.of("a.b", "gates", "what", "source unit", values, dtype=dtype)])])
    again = Explained.from_json(document.to_json())
    assert again == document
    found = again.lanes[0].map("a.b")
    assert (found.axes, found.shape, found.low, found.high) == (["source", "unit"], [3, 4], -1, 3)
    assert np.abs(found.values - values).max() <= error
    assert found.values.dtype == np.float32


def test_a_constant_and_an_empty_array_survive_too():
    for values in (np.full((2, 2), 0.5), np.zeros((0, 3))):
        assert np.array_equal(Map.of("a", "v", "w", "source unit", values, dtype="uint8").values, values)


def test_axes_must_fit_the_array():
    with pytest.raises(ValueError, match="2 axes"):
        Map.of("a", "v", "w", "source", np.zeros((2, 2)))


def test_a_map_that_is_not_there_is_a_key_error_and_fresh_weights_are_another_map():
    fresh = Map.of("a", "v", "w", "source", np.zeros(2), trained=False)
    assert lane(maps=[fresh]).map("a", trained=False) is fresh
    with pytest.raises(KeyError):
        lane(maps=[fresh]).map("a")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"kind":"explain","version":1}', "version"),
        ('{"kind":"alignment"}', "alignment"),
        ("[" * 100_000, "document"),
        ('{"kind":"explain","version":2,"lanes":[{}]}', "model"),
    ],
)
def test_another_document_is_refused_with_the_place(text, wrong):
    with pytest.raises(DataError, match=f"not an explain document of version {VERSION}") as refused:
        Explained.from_json(text)
    assert wrong in str(refused.value)


def test_the_schema_accepts_what_is_written_and_refuses_what_is_not():
    import jsonschema_rs

    check = jsonschema_rs.validator_for(schema())
    good = json.loads(Explained(lanes=[lane(maps=[Map.of("a", "v", "w", "source", np.zeros(2))])]).to_json())
    check.validate(good)
    for spoil in ({"version": 1}, {"kind": "x"}, {"lanes": [{}]}):
        assert not check.is_valid(good | spoil)


def test_views_are_named_once_and_in_order():
    path = Path("encoder", "source", "b", [0.5], [[0.0, 1.0]])
    maps = [Map.of(name, view, "w", "source", np.zeros(2)) for name, view in (("b", "gates"), ("a", "attention"))]
    lanes = [lane(paths=[path], maps=maps), lane(maps=maps[:1])]
    assert lanes[0].views() == ["attention", "gates", "states"]
    phrases = [Phrases("m", "mean", [0.5], [Phrase("ab", "", [0.0, 1.0])])]
    document = Explained(lanes=lanes, phrases=phrases, curves=[Curve("r", "loss", "nats", [1], [2.0])])
    assert document.views() == ["attention", "gates", "states", "phrases", "curves"]
    assert set(document.views()) <= set(VIEWS)
