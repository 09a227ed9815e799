"""Additive attention in the recurrent model against its equation: alpha_j ~ exp(w . tanh(W_q s + W_k h_j))."""

import torch

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD


def test_the_top_state_before_the_step_asks_each_annotation() -> None:
    torch.manual_seed(0)
    settings = ["model.kind=rnn", "model.attention=additive", "model.layers=2", "model.width=6", "model.dropout=0.0"]
    model = build_model(load_config(None, settings), 9, 9, joint=True).double().eval()
    assert isinstance(model, RecurrentSeq2Seq) and model.score is not None
    source = torch.tensor([[5, 7, 4, EOS], [8, EOS, PAD, PAD]])
    memory, trace = model.encode(source, source != PAD), Trace()
    state = model.start(memory)
    for step, word in enumerate((BOS, 6)):
        top = state[-1][0]
        _, state = model.step(torch.full((2, 1), word), state, memory, trace)
        for row, length in enumerate((4, 2)):
            scores = [
                model.score.w @ torch.tanh(model.score.W_q(top[row]) + model.score.W_k(memory.annotations[row, j]))
                for j in range(length)
            ]
            alpha = trace["decoder.attention"][step][row, 0, :length]
            torch.testing.assert_close(alpha, torch.stack(scores).softmax(0))
