"""The task of language modelling: the loss over all windows, the state that is carried, the gradient that is cut."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.config import load_config
from seqloom.data.language_windows import Windows
from seqloom.errors import UsageError
from seqloom.models.api import LanguageModel
from seqloom.models.build import build_model
from seqloom.tasks.build import build_task
from seqloom.tasks.language import Language

VOCAB = 9
RNN = ["model.kind=rnn", "model.cell=lstm", "model.layers=2"]


def make(*settings: str) -> tuple[LanguageModel, Language]:
    small = ["task.name=language", "model.width=8", "model.heads=2", "model.dropout=0.0"]
    config = load_config(None, [*small, *settings])
    torch.manual_seed(1)
    task: Any = build_task(config)
    return build_model(config, VOCAB, VOCAB, True).double(), task


def cut(tokens: Tensor, begin: int, end: int) -> Windows:
    return Windows(tokens[:, begin:end], tokens[:, begin + 1 : end + 1], fresh=begin == 0)


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(4, VOCAB, (3, 13), generator=torch.Generator().manual_seed(0))


def whole_loss(model: LanguageModel, tokens: Tensor) -> Tensor:
    hidden, _ = model.read(tokens[:, :-1], model.begin(len(tokens)))
    log_probs = model.project(hidden).log_softmax(-1)
    return -log_probs.gather(-1, tokens[:, 1:, None]).sum()


@pytest.mark.parametrize("settings", [RNN, ["model.kind=gpt", "model.layers=1"]])
def test_the_loss_is_that_of_every_next_token(settings: list[str], tokens: Tensor) -> None:
    model, task = make(*settings)
    loss = task.loss(model, cut(tokens, 0, 12))
    assert loss.num_tokens == 36
    assert loss.nll.item() == pytest.approx(whole_loss(model, tokens).item())
    assert task.loss(model, cut(tokens, 0, 12), smoothing=0.3).smoothed.item() != pytest.approx(loss.nll.item())


def test_a_recurrent_network_carries_its_state_a_gpt_does_not(tokens: Tensor) -> None:
    for settings, carries in ((RNN, True), (["model.kind=gpt", "model.layers=1"], False)):
        model, task = make(*settings)
        whole = whole_loss(model, tokens).item()
        parts = [task.loss(model, cut(tokens, begin, begin + 4)) for begin in (0, 4, 8)] if carries else []
        assert bool(task.carried()) == carries
        if carries:
            assert sum(part.nll.item() for part in parts) == pytest.approx(whole)
            again = [task.loss(model, cut(tokens, begin, begin + 4)) for begin in (0, 4, 8)]  # a new epoch begins anew
            assert [a.nll.item() for a in again] == [b.nll.item() for b in parts]


def test_no_gradient_goes_beyond_the_window(tokens: Tensor) -> None:
    """The second window's gradient is the one of a state that is a given number."""
    model, task = make(*RNN)
    task.loss(model, cut(tokens, 0, 6))
    _, state = model.read(tokens[:, :6], model.begin(3))
    given = [tuple(part.detach() for part in layer) for layer in state]
    model.zero_grad()
    hidden, _ = model.read(tokens[:, 6:12], given)
    want = -model.project(hidden).log_softmax(-1).gather(-1, tokens[:, 7:13, None]).sum()
    wanted = torch.autograd.grad(want, list(model.parameters()))
    task.loss(model, cut(tokens, 6, 12)).smoothed.backward()
    for parameter, gradient in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_what_is_carried_goes_through_a_checkpoint(tokens: Tensor) -> None:
    model, task = make(*RNN)
    task.loss(model, cut(tokens, 0, 4))
    saved = {name: tensor.clone() for name, tensor in task.carried().items()}
    assert len(saved) == 4  # h and c of two layers
    want = task.loss(model, cut(tokens, 4, 8)).nll
    _, other = make(*RNN)
    other.restore_carried(saved)
    assert other.carried() == saved  # a stop before the next step loses nothing
    assert torch.equal(other.loss(model, cut(tokens, 4, 8)).nll, want)
    other.restore_carried(saved)
    fresh = other.loss(model, cut(tokens, 0, 4)).nll  # the next epoch does not begin with it
    assert torch.equal(fresh, make(*RNN)[1].loss(model, cut(tokens, 0, 4)).nll)


def test_a_state_that_is_dropped_is_not_carried_on(tokens: Tensor) -> None:
    model, task = make(*RNN)
    with torch.no_grad():
        good = model.output.bias.clone()
        next(model.parameters())[:] = torch.nan
        assert task.loss(model, cut(tokens, 0, 4)).nll.isnan()
    model, _ = make(*RNN)
    assert torch.equal(model.output.bias, good)
    assert task.loss(model, cut(tokens, 4, 8)).nll.isnan()  # the weights are good, what is carried is not
    task.drop_carried()
    assert not task.carried()
    fresh = Windows(tokens[:, 4:8], tokens[:, 5:9], fresh=True)
    assert torch.equal(task.loss(model, cut(tokens, 4, 8)).nll, make(*RNN)[1].loss(model, fresh).nll)


def test_settings_that_do_not_go_together() -> None:
    def fault(*settings: str) -> str:
        with pytest.raises(UsageError) as raised:
            load_config(None, list(settings))
        return str(raised.value)

    assert "cannot hold task.window = 64" in fault(
        "task.name=language", "model.kind=gpt", "task.window=64", "train.batch_tokens=63"
    )
    assert "text.joint = true" in fault("model.kind=gpt", "text.joint=false")
    assert "use rnn or gpt" in fault("task.name=language")
    load_config(None, ["task.name=language", "model.kind=rnn", "model.width=7", "train.batch_tokens=128"])
