"""Lens: the last layer and the whole text say what the model says; earlier ones equal a model cut off there."""

import copy

import pytest
import torch

from seqloom.decode.search import search
from seqloom.runtime.engine_torch import padded
from seqloom.text.vocabulary import BOS, EOS

TEXT = "a cat sat"


def readings(model, **options):
    (lane,) = model.explain(TEXT, views=["lens"], **options).lanes
    return lane, {(reading.kind, reading.number): reading for reading in lane.lens}


def greedy(model, ids, most):
    with torch.inference_mode():
        found = search(model, model.encode(*padded([ids])), beam=1, max_length=most)[0][0]
    return [*found.ids, *[EOS] * found.ended], found.log_prob


@pytest.mark.parametrize("settings", [(), ("model.norm=post",)])
def test_encoder_layers_equal_an_encoder_that_ends_there(load, settings):
    model = load("transformer", *settings)
    lane, found = readings(model)
    ids = [token.id for token in lane.source.tokens]
    for layer in (1, 2):
        short = copy.deepcopy(model.model)
        short.encoder = short.encoder[:layer]
        want, log_prob = greedy(short, ids, len(lane.target.tokens) + 10)
        reading = found["encoder layer", layer]
        assert reading.pieces == model.tokenizers.target.pieces(want)
        assert sum(reading.log_probs) == pytest.approx(log_prob, abs=1e-4)
        assert reading.text == model.tokenizers.target.decode(want).strip()


@pytest.mark.parametrize("family", ["transformer", "gpt", "gpt language"])
def test_decoder_layers_equal_a_decoder_that_ends_there(load, family):
    model = load(family)
    lane, found = readings(model, **({} if family == "gpt language" else {"target": "le chat"}))
    written = [token.id for token in lane.target.tokens]
    assert [number for kind, number in found if kind == "decoder layer"] == [1, 2]
    for layer in (1, 2):
        short = copy.deepcopy(model.model)
        short.decoder = short.decoder[:layer]
        with torch.inference_mode():
            if family == "gpt language":
                hidden, _ = short.read(torch.tensor([[EOS, *written[:-1]]]), short.begin(1))
            else:
                src = padded([[token.id for token in lane.source.tokens]])
                hidden = short.hidden(torch.tensor([[BOS, *written[:-1]]]), short.encode(*src))
            best = short.project(hidden[0]).log_softmax(-1).max(-1)
        reading = found["decoder layer", layer]
        assert reading.pieces == model.tokenizers.target.pieces(best.indices.tolist())
        assert reading.log_probs == pytest.approx(best.values.tolist(), abs=1e-4)


@pytest.mark.parametrize(
    ("family", "settings"),
    [("rnn", ()), ("luong", ()), ("fixed", ()), ("fixed", ("data.reverse_source=true",))],
)
def test_words_read_equal_the_translation_of_the_beginning(load, family, settings):
    model = load(family, *settings)
    lane, found = readings(model)
    words = [token.id for token in lane.source.tokens][:-1]
    assert [*found] == [("words read", k) for k in range(1, len(words) + 1)]
    for k in range(1, len(words) + 1):
        part = words[len(words) - k :] if settings else words[:k]
        want, log_prob = greedy(model.model, [*part, EOS], len(lane.target.tokens) + 10)
        reading = found["words read", k]
        assert reading.pieces == model.tokenizers.target.pieces(want)
        assert sum(reading.log_probs) == pytest.approx(log_prob, abs=1e-3)


@pytest.mark.parametrize("family", ["tagger", "masked"])
def test_the_last_layer_of_a_reader_gives_its_answers(load, family):
    model = load(family)
    (lane,) = model.explain("a ___ sat" if family == "masked" else TEXT, views=["lens"]).lanes
    assert [(reading.kind, reading.number) for reading in lane.lens] == [("encoder layer", 1), ("encoder layer", 2)]
    last = lane.lens[-1]
    assert last.pieces == [step.top[0].piece for step in lane.steps]
    assert last.log_probs == pytest.approx([step.log_prob for step in lane.steps], abs=1e-5)
    if family == "tagger":
        assert last.text.split() == lane.answers


def test_a_classifier_has_one_answer_per_layer(load):
    model = load("tagger", "task.name=classify")
    (lane,) = model.explain(TEXT, views=["lens"]).lanes
    assert [len(reading.pieces) for reading in lane.lens] == [1, 1]
    assert lane.lens[-1].text == lane.answers[0]


def test_no_hook_stays_on_the_model(load):
    for family in ("transformer", "gpt", "tagger"):
        model = load(family)
        readings(model)
        assert not any(module._forward_hooks for module in model.model.modules())
