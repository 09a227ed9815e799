"""The fast step of recurrent models is their own step; the engine answers as the reference does."""

import random
import time
from threading import Event

import pytest
import torch

from seqloom.config import ATTENTIONS, CELLS, load_config
from seqloom.decode.options import SearchRequest
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import select_rows
from seqloom.models.build import build_model
from seqloom.nn.trace import Trace
from seqloom.runtime import fast_recurrent
from seqloom.runtime.engine_torch import TorchEngine
from seqloom.runtime.engines import faster_engine
from seqloom.runtime.fast_recurrent import FastRecurrent, PackedMatrices
from seqloom.runtime.parts import Part

SHAPES = [
    *({"cell": cell, "decoder": decoder} for cell in CELLS for decoder in ("bahdanau", "luong")),
    *({"attention": attention, "cell": "lstm", "layers": 2} for attention in ATTENTIONS if attention != "additive"),
    {"attention": "none", "feed_context": True, "cell": "gru", "layers": 2, "encoder_width": 6},
    {"attention": "none", "embed_size": 6, "cell": "gru_fused", "layers": 2},
    {"maxout": 5, "tied": False, "embed_size": 6},
    {"embed_scale": False, "embed_size": 6},
    {"decoder_layers": 3, "embed_size": 6, "decoder": "luong", "cell": "lstm"},
]
SOURCE = torch.tensor([[5, 7, 4, 2, 0], [9, 2, 0, 0, 0], [6, 6, 10, 8, 2]])


def build(shape):
    torch.manual_seed(2)
    settings = {"kind": "rnn", "width": 8, "layers": 1, **shape}
    model = build_model(load_config(None, [f"model.{k}={str(v).lower()}" for k, v in settings.items()]), 13, 13, True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return model.eval()


def flat(state):
    if isinstance(state, torch.Tensor):
        return [state]
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, (list, tuple)) else []
    return [tensor for part in parts for tensor in flat(part)]


@pytest.mark.parametrize("most_words", [fast_recurrent.MOST_WORDS, 0], ids=["table", "no table"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_step_is_the_models_own(shape, most_words, monkeypatch):
    monkeypatch.setattr(fast_recurrent, "MOST_WORDS", most_words)
    model = build(shape)
    fast = FastRecurrent(model)
    with torch.inference_mode():
        memory = fast.encode(SOURCE, SOURCE != 0)
        states = [each.start(memory, 2) for each in (fast, model)]
        for tokens in ([1] * 6, [4, 9, 5, 12, 3, 7], [8, 8, 10, 4, 11, 6]):
            ids = torch.tensor(tokens)[:, None]
            (found, after), (expected, own) = (
                each.step(ids, state, memory) for each, state in zip((fast, model), states, strict=True)
            )
            assert torch.allclose(found, expected, atol=1e-5)
            assert torch.allclose(fast.project(found), model.project(expected), atol=1e-5)
            for ours, theirs in zip(flat(after), flat(own), strict=True):
                assert torch.allclose(ours, theirs, atol=1e-5)
            rows = torch.tensor([1, 0, 2, 2, 5, 4])  # a beam is reordered
            states = [select_rows(state, rows) for state in (after, own)]


@pytest.mark.parametrize("shape", [SHAPES[2], SHAPES[5], SHAPES[10]], ids=str)
def test_search_finds_the_same(shape):
    model = build(shape)
    fast = FastRecurrent(model)
    with torch.inference_mode():
        memory = model.encode(SOURCE, SOURCE != 0)
    for beam in (1, 3):
        found, expected = (search(each, memory, beam=beam, n_best=beam, max_length=9) for each in (fast, model))
        assert [[h.ids for h in ranked] for ranked in found] == [[h.ids for h in ranked] for ranked in expected]
        scores = [[h.score for ranked in side for h in ranked] for side in (found, expected)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_the_fast_path_is_taken_where_it_may_be(monkeypatch):
    """Else a test of equality would compare the model with itself."""
    model = build(SHAPES[0])
    fast = FastRecurrent(model)
    own = []
    step = model.step
    monkeypatch.setattr(model, "step", lambda *arguments: own.append(1) or step(*arguments))
    with torch.inference_mode():
        memory = fast.encode(SOURCE, SOURCE != 0)
        ids = torch.tensor([[4], [5], [6]])
        fast.step(ids, fast.start(memory), memory)
        assert not own
        trace = Trace()
        fast.step(ids, fast.start(memory), memory, trace)
        fast.step(torch.tensor([[4, 5]] * 3), fast.start(memory), memory)
    assert len(own) == 2
    assert "decoder.attention" in trace.names()


def test_a_matrix_is_packed_for_several_rows_and_not_for_one():
    matrices, matrix, bias = PackedMatrices(), torch.randn(3, 4), torch.randn(3)
    for x in (torch.randn(1, 4), torch.randn(1, 1, 4), torch.randn(1, 5, 4), torch.randn(5, 4)):
        packed_before = len(matrices.packed)
        torch.testing.assert_close(matrices.linear(x, matrix, bias), torch.nn.functional.linear(x, matrix, bias))
        assert len(matrices.packed) == (packed_before if x.numel() == 4 else int(matrices.usable))


def test_what_nobody_waits_for_is_not_begun(monkeypatch):
    """Ctrl-C in the middle of many batches: the one at work is finished, the others are not even begun."""
    engine, go_on, begun = faster_engine(build({}), "auto", 2), Event(), []
    engine.threads = 1
    monkeypatch.setattr(engine, "answer", lambda request, batch: begun.append(batch) or go_on.wait(9))

    def interrupt(*_):
        while not begun:
            time.sleep(0.001)
        raise KeyboardInterrupt

    assert engine.workers  # they start before any result is waited for
    monkeypatch.setattr("concurrent.futures.Future.result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        engine.answer_all(SearchRequest().filled(), [[Part([number])] for number in range(5)])
    go_on.set()
    engine.workers.shutdown()
    assert begun == [[Part([4])]]


def test_which_models_get_the_faster_engine():
    rnn, transformer = build({}), build({"kind": "transformer", "heads": 2})
    assert faster_engine(rnn, "auto", 4).name == "recurrent"
    assert faster_engine(rnn, "torch", 4) is None
    assert faster_engine(transformer, "auto", 4) is None
    with pytest.raises(UsageError, match="for one recurrent model"):
        faster_engine(transformer, "recurrent", 4)


def test_several_batches_at_once_answer_as_one_after_the_other():
    model, threads = build({}), torch.get_num_threads()
    draw = random.Random(3)
    parts = [Part(draw.choices(range(4, 13), k=draw.randint(1, 9))) for _ in range(11)]
    engine = faster_engine(model, "auto", 2)
    engine.threads = 3
    try:
        for options in (SearchRequest(beam=1), SearchRequest(beam=3, n_best=2)):
            found, expected = (each.find(options.filled(), parts) for each in (engine, TorchEngine(model, 2)))
            ids = [[[h.ids for h in ranked] for ranked in side] for side in (found, expected)]
            assert ids[0] == ids[1]
        assert torch.get_num_threads() == threads, "who asks keeps what it has"
        assert [*engine.workers.map(lambda _: torch.get_num_threads(), range(3))] == [1, 1, 1]
        assert len(engine.workers._threads) == 3
    finally:
        torch.set_num_threads(threads)
        engine.workers.shutdown()
