"""The recurrent decoders against the papers' equations, computed one sentence and one position at a time."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.nn.cells import Cell
from seqloom.nn.late_weight_gradients import Late, multiply
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD

SOURCE = torch.tensor([[5, 7, 4, EOS], [8, EOS, PAD, PAD]])
TARGET = torch.tensor([[BOS, 6, 9, 4], [BOS, 5, 5, 7]])
WIDTH, EMBED = 6, 4


def build(*settings: str) -> RecurrentSeq2Seq:
    torch.manual_seed(0)
    sizes = ["model.kind=rnn", f"model.width={WIDTH}", f"model.embed_size={EMBED}", "model.dropout=0.0"]
    model = build_model(load_config(None, [*sizes, *settings]), 10, 10, joint=True).double().eval()
    assert isinstance(model, RecurrentSeq2Seq)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def advance(cell: Cell, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """One cell, one sentence, by the equations of nn/cells.py."""
    return tuple(s[0] for s in cell.advance(cell.project(x[None]), tuple(s[None] for s in state)))


def pool(model: RecurrentSeq2Seq, query: Tensor, annotations: Tensor) -> tuple[Tensor, Tensor]:
    """c = sum_j alpha_j h_j over this sentence's real annotations (S, C)."""
    keys = model.decoder.project_keys(annotations[None])
    alpha = model.decoder.score(query[None, None], keys)[0, 0].softmax(-1)
    return sum(a * h for a, h in zip(alpha, annotations, strict=True)), alpha


def sentences(model: RecurrentSeq2Seq, trace: Trace) -> Iterator[tuple[int, Tensor, Any, Tensor]]:
    """(row, its real annotations, last states, its words as vectors)"""
    memory = model.encode(SOURCE, SOURCE != PAD, trace)
    for row, length in enumerate((4, 2)):
        last = [tuple(part[row] for part in layer) for layer in memory.last]
        yield row, memory.annotations[row, :length], last, model.target_table(TARGET[row]) * EMBED**0.5


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("attention", ["additive", "bilinear", "gaussian"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_bahdanau(cell: str, attention: str, layers: int) -> None:
    """s_0 = tanh(W h<-_1); c_i from s_{i-1}; s_i = f(s_{i-1}, [y; c_i]); t_i = tanh(W [y; s_i; c_i]); s of the top."""
    model = build(f"model.cell={cell}", f"model.attention={attention}", f"model.layers={layers}")
    decoder, trace = model.decoder, Trace()
    got = model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD), trace)
    for row, annotations, last, words in sentences(model, Trace()):
        states = [
            tuple(torch.tanh(m(s[WIDTH // 2 :])) for m, s in zip(maps, layer, strict=True))
            for maps, layer in zip(decoder.bridge.maps, last, strict=True)
        ]
        torch.testing.assert_close(last[-1][0][WIDTH // 2 :], annotations[0, WIDTH // 2 :])  # h<-_1
        for i, y in enumerate(words):
            c, alpha = pool(model, states[-1][0], annotations)
            x = torch.cat([y, c])
            for depth, cells in enumerate(decoder.stack.cells):
                states[depth] = advance(cells, x, states[depth])
                x = states[depth][0]
                torch.testing.assert_close(trace[f"decoder.{depth}.state.hidden"][i][row, 0], x)
            want = torch.tanh(decoder.readout.W(torch.cat([y, x, c])))
            torch.testing.assert_close(got[row, i], want)
            torch.testing.assert_close(trace["decoder.attention"][i][row, 0, : len(alpha)], alpha)


@pytest.mark.parametrize("attention", ["dot", "scaled_dot", "bilinear"])
@pytest.mark.parametrize("cell", ["lstm", "rnn"])
def test_luong(cell: str, attention: str) -> None:
    """s_0 = h_S; s_i = f(s_{i-1}, [y; h~_{i-1}]); c_i from s_i; h~_i = tanh(W [c_i; s_i])."""
    settings = [f"model.cell={cell}", f"model.attention={attention}", "model.decoder=luong", "model.layers=2"]
    model, trace = build(*settings, "model.bidirectional=false"), Trace()
    decoder = model.decoder
    assert not list(decoder.bridge.parameters())
    got = model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD), trace)
    for row, annotations, last, words in sentences(model, Trace()):
        state, fed = list(last), torch.zeros(EMBED, dtype=torch.float64)
        torch.testing.assert_close(last[1][0], annotations[-1])  # h_S of the top
        for i, y in enumerate(words):
            state[0] = advance(decoder.stack.cells[0], torch.cat([y, fed]), state[0])
            state[1] = advance(decoder.stack.cells[1], state[0][0], state[1])
            c, alpha = pool(model, state[1][0], annotations)
            fed = torch.tanh(decoder.W.weight @ torch.cat([c, state[1][0]]))
            torch.testing.assert_close(got[row, i], fed)
            torch.testing.assert_close(trace["decoder.attention"][i][row, 0, : len(alpha)], alpha)


@pytest.mark.parametrize("setting", ["model.attention=none", "model.decoder=luong", "model.decoder=bahdanau"])
def test_unscaled_words_are_those_of_a_longer_table(setting: str) -> None:
    """embed_scale = true: every word vector, of both sides, times sqrt(E)."""
    scaled, plain = (build("model.tied=false", setting, f"model.embed_scale={word}") for word in ("true", "false"))
    plain.load_state_dict(scaled.state_dict())
    with torch.no_grad():
        for table in (plain.source_table, plain.target_table):
            table.weight *= EMBED**0.5
    found = [model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD)) for model in (scaled, plain)]
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("settings", ["luong gru bilinear", "bahdanau lstm additive", "bahdanau gru_fused gaussian"])
def test_late_products_change_no_gradient(settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole model, two layers, against autograd alone."""
    decoder, cell, attention = settings.split()
    names = [f"model.decoder={decoder}", f"model.cell={cell}", f"model.attention={attention}", "model.layers=2"]
    model, found = build(*names), []
    for linear in (Late.linear, lambda self, x, matrix: multiply(x, matrix)):
        monkeypatch.setattr(Late, "linear", linear)
        hidden = model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD))
        found.append([hidden, *torch.autograd.grad((model.project(hidden) ** 2).sum(), list(model.parameters()))])
    for late, plain in zip(*found, strict=True):
        torch.testing.assert_close(late, plain, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_fixed_vector(cell: str) -> None:
    """The last states of all layers start the decoder as they are; its top state is the output."""
    settings = [f"model.cell={cell}", "model.attention=none", "model.layers=2", "model.bidirectional=false"]
    model = build(*settings, f"model.embed_size={WIDTH}")
    assert not list(model.decoder.bridge.parameters()) and not list(model.decoder.readout.parameters())
    got = model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD))
    memory = model.encode(SOURCE, SOURCE != PAD)
    for row in range(2):
        state = [tuple(part[row] for part in layer) for layer in memory.last]
        for i, y in enumerate(model.target_table(TARGET[row]) * WIDTH**0.5):
            state[0] = advance(model.decoder.stack.cells[0], y, state[0])
            state[1] = advance(model.decoder.stack.cells[1], state[0][0], state[1])
            torch.testing.assert_close(got[row, i], state[1][0])


def test_an_output_matrix_of_its_own_reads_states_as_they_are() -> None:
    """Tied, what is said must have the width of a word vector; untied it need not."""
    for tied, width in (("true", EMBED), ("false", WIDTH)):
        for settings in (["model.attention=none"], ["model.decoder=luong"], []):
            model = build(*settings, f"model.tied={tied}", "model.layers=1")
            hidden = model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD))
            assert hidden.shape[-1] == model.output.weight.shape[1] == width
    fixed = build("model.attention=none", "model.tied=false", "model.layers=1")
    assert not list(fixed.decoder.readout.parameters())


def test_fixed_vector_fed_at_every_step() -> None:
    """s_i = f(s_{i-1}, [y; c]), t_i = maxout(W [y; s_i; c]), c = h_S of both directions."""
    model = build("model.attention=none", "model.feed_context=true", "model.layers=1", f"model.maxout={EMBED}")
    decoder = model.decoder
    got = model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD))
    for row, annotations, last, words in sentences(model, Trace()):
        ((c,),) = last
        torch.testing.assert_close(c[: WIDTH // 2], annotations[-1, : WIDTH // 2])
        (state,) = ((torch.tanh(decoder.bridge.maps[0][0](c)),),)
        for i, y in enumerate(words):
            state = advance(decoder.stack.cells[0], torch.cat([y, c]), state)
            t = decoder.readout.W(torch.cat([y, state[0], c]))
            want = torch.stack([t[2 * j : 2 * j + 2].max() for j in range(EMBED)])
            torch.testing.assert_close(got[row, i], want)


def test_the_source_back_to_front() -> None:
    """Reversed reading of a reversed sentence is plain reading; what it says of each word stays at the word."""
    plain = build("model.bidirectional=false", "model.layers=2")
    backward = build("model.bidirectional=false", "model.layers=2", "data.reverse_source=true")
    backward.load_state_dict(plain.state_dict())
    tokens, everything = torch.tensor([[5, 7, 4, 8]]), torch.ones(1, 4, dtype=torch.bool)
    one, other = plain.encode(tokens.flip(1), everything), backward.encode(tokens, everything)
    torch.testing.assert_close(other.annotations, one.annotations.flip(1))
    torch.testing.assert_close(backward.hidden(TARGET[:1], other), plain.hidden(TARGET[:1], one))
