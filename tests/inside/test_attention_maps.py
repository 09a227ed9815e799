"""Maps of attention equal the trace, and their rows sum to 1."""

import numpy as np
import pytest
import torch

from seqloom.models.traced_attention import cross_attention
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS

TEXT, TARGET = "a cat sat", "le chat"


def ids_of(model, text, side="source"):
    return getattr(model.tokenizers, side).encode(text)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "gaussian", "bilinear", "additive"])
def test_every_score_of_a_recurrent_model(load, score):
    model = load("rnn", f"model.attention={score}")
    (lane,) = model.explain(TEXT, target=TARGET, views=["attention"]).lanes
    (found,) = lane.maps
    assert (found.name, found.axes, found.view) == ("decoder.attention", ["target", "source"], "attention")
    assert found.shape == [len(lane.target.tokens), len(lane.source.tokens)]
    assert np.allclose(found.values.sum(-1), 1, atol=1e-5)
    assert np.allclose(found.values, model.align(TEXT, TARGET)[2], atol=1e-6)


@pytest.mark.parametrize("family", ["luong", "transformer", "gpt", "restores"])
def test_the_pooled_map_is_what_align_shows(load, family):
    model = load(family)
    (lane,) = model.explain(TEXT, target=TARGET, views=["attention"]).lanes
    src = torch.tensor([[*ids_of(model, TEXT), EOS]])
    tgt_in = torch.tensor([[BOS, *ids_of(model, TARGET, "target")]])
    want = cross_attention(model.model, src, tgt_in)
    assert np.allclose(lane.map("decoder.attention").values, want, atol=1e-6)


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("transformer", ["decoder.cross.0", "decoder.cross.1"]),
        ("transformer", ["encoder.self.0", "encoder.self.1", "decoder.self.0", "decoder.self.1"]),
        ("gpt", ["decoder.cross.0", "decoder.cross.1"]),
        ("gpt", ["encoder.self.0", "encoder.self.1", "decoder.self.0", "decoder.self.1"]),
    ],
)
def test_each_layer_and_head_equals_the_trace(load, family, names):
    model, trace = load(family), Trace()
    src = torch.tensor([[*ids_of(model, TEXT), EOS]])
    with torch.inference_mode():
        memory = model.model.encode(src, torch.ones_like(src, dtype=torch.bool), trace)
        model.model.hidden(torch.tensor([[BOS, *ids_of(model, TARGET, "target")]]), memory, trace)
    view = "attention" if "cross" in names[0] else "self"
    (lane,) = model.explain(TEXT, target=TARGET, views=[view]).lanes
    assert [found.name for found in lane.maps if found.name != "decoder.attention"] == names
    for name in names:
        found = lane.map(name)
        assert np.allclose(found.values, trace[name][0][0], atol=1e-3)  # half precision
        assert np.allclose(found.values.sum(-1), 1, atol=5e-3)
        sides = {"source": lane.source.tokens, "target": lane.target.tokens, "prefix": lane.target.tokens}
        assert found.axes[0] == "head"
        assert found.shape == [2, *(len(sides[axis]) for axis in found.axes[1:])]


@pytest.mark.parametrize(
    ("family", "axes"),
    [("masked", "head source source"), ("tagger", "head source source"), ("gpt language", "head target prefix")],
)
def test_self_attention_of_models_without_a_source_or_a_target(load, family, axes):
    (lane,) = load(family).explain(TEXT, views=["self"]).lanes
    assert [found.axes for found in lane.maps] == [axes.split()] * 2
    for found in lane.maps:
        assert np.allclose(found.values.sum(-1), 1, atol=5e-3)
        if "prefix" in axes:
            assert np.triu(found.values, 1).max() == 0  # no token looks ahead
