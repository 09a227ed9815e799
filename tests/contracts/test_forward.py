"""The forward half of the contract in models/api.py, kept by every model of the registry."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.models.api import LanguageModel, Memory, Seq2Seq, State, select_rows
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import PAD

BEAMS = 3
NOT_ATTENTION = (".gate.", ".state.")


def close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=1e-10)


def tensors_of(state: State) -> Iterator[Tensor]:
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, dict | tuple | list):
        for part in state.values() if isinstance(state, dict) else state:
            yield from tensors_of(part)


@pytest.mark.parametrize("chunks", [[1, 1, 1, 1, 1, 1], [2, 1, 3], [5, 1]])
def test_step_repeated_equals_hidden(model: Seq2Seq, memory: Memory, target: Tensor, chunks: list[int]) -> None:
    state, outputs = model.start(memory), []
    for chunk in target.split(chunks, 1):
        hidden, state = model.step(chunk, state, memory)
        outputs.append(hidden)
    assert close(torch.cat(outputs, 1), model.hidden(target, memory))


def test_a_later_token_changes_nothing_before_it(model: Seq2Seq, memory: Memory, target: Tensor) -> None:
    before = model.hidden(target, memory)
    for t in range(1, target.shape[1]):
        changed = target.clone()
        changed[:, t] = 11 - changed[:, t] % 4  # another word in every row
        after = model.hidden(changed, memory)
        assert (changed[:, t] != target[:, t]).any()
        assert close(after[:, :t], before[:, :t])
        assert not close(after[:, t], before[:, t])


def test_source_padding_is_invisible(model: Seq2Seq, memory: Memory, source: Tensor, target: Tensor) -> None:
    """More of it, and something else in it."""
    wider = torch.cat([source, torch.full((4, 3), PAD)], 1)
    mask = wider != PAD
    garbage = torch.where(mask, wider, 7)
    want = model.hidden(target, memory)
    for tokens in (wider, garbage):
        padded = model.encode(tokens, mask)
        assert close(padded.annotations[mask], memory.annotations[memory.mask])
        assert close(model.hidden(target, padded), want)


def test_a_sentence_alone_and_in_any_batch(model: Seq2Seq, memory: Memory, source: Tensor, target: Tensor) -> None:
    together = model.hidden(target, memory)
    for row in range(4):
        tokens = source[row : row + 1, : int(memory.mask[row].sum())]
        alone = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
        assert close(model.hidden(target[row : row + 1, : row + 3], alone)[0], together[row, : row + 3])
    order = torch.tensor([2, 0, 3, 1])
    shuffled = model.encode(source[order], source[order] != PAD)
    assert close(model.hidden(target[order], shuffled), together[order])
    assert close(model.hidden(target[order], memory.select(order)), together[order])


def test_the_source_is_read(model: Seq2Seq, memory: Memory, source: Tensor, target: Tensor) -> None:
    """Each real token of it reaches each position of the output."""
    before = model.hidden(target, memory)
    for s in range(4):
        changed = source.clone()
        changed[:, s] = torch.where(source[:, s] == 5, 4, 5)
        after = model.hidden(target, model.encode(changed, source != PAD))
        touched = (after - before).abs().amax(-1) > 1e-9  # (B, T)
        assert torch.equal(touched.all(1), memory.mask[:, s])
        assert torch.equal(touched.any(1), memory.mask[:, s])


def test_attention_weights(model: Seq2Seq, shape: dict[str, object], source: Tensor, target: Tensor) -> None:
    """They sum to 1, and are exactly 0 on padding and on what is yet to come."""
    trace, mask = Trace(), source != PAD
    model.hidden(target, model.encode(source, mask, trace), trace)
    names = [name for name in trace.names() if not any(part in name for part in NOT_ATTENTION)]
    assert bool(names) == (shape.get("attention", "additive") != "none")
    for name in names:
        for weights in trace[name]:
            assert len(weights) == 4 and weights.dtype == torch.float64
            assert torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1)))
            flat = weights.flatten(1, -2)  # (B, *, S) or, to the target itself, (B, *, T)
            if name.startswith("encoder") and isinstance(model, LanguageModel):  # it reads its source word by word
                visible = torch.ones_like(weights, dtype=torch.bool).tril().flatten(1, -2)
            elif flat.shape[-1] == source.shape[1]:
                visible = mask[:, None].expand_as(flat)
            else:
                visible = torch.ones_like(weights, dtype=torch.bool).tril().flatten(1, -2)
            assert torch.equal(flat > 0, visible) and (flat[~visible] == 0).all()


def test_traced_and_untraced_agree(model: Seq2Seq, memory: Memory, source: Tensor, target: Tensor) -> None:
    trace = Trace()
    traced = model.encode(source, source != PAD, trace)
    assert close(traced.annotations, memory.annotations)
    assert close(model.hidden(target, traced, trace), model.hidden(target, memory))
    state = model.start(memory)
    assert close(model.step(target, state, memory, trace)[0], model.step(target, state, memory)[0])


def test_state_rows_belong_to_their_sentence_and_reorder(model: Seq2Seq, memory: Memory) -> None:
    """B x W hypotheses with different pasts, put in another order, go on as if they had always stood there."""
    torch.manual_seed(0)
    owners = torch.arange(4 * BEAMS) // BEAMS
    first, second = torch.randint(3, 13, (2, 4 * BEAMS, 2))
    order = owners * BEAMS + torch.randint(BEAMS, (4 * BEAMS,))
    _, state = model.step(first, model.start(memory, BEAMS), memory)
    assert all(len(tensor) == 4 * BEAMS for tensor in tensors_of(state))
    got, _ = model.step(second, select_rows(state, order), memory)
    want = model.hidden(torch.cat([first[order], second], 1), memory.select(owners))
    assert close(got, want[:, 2:])


def test_memory_has_one_row_a_sentence(memory: Memory) -> None:
    parts = list(tensors_of([memory.annotations, memory.mask, memory.last, memory.keys]))
    assert all(len(part) == 4 for part in parts)


def test_gradients_reach_every_parameter(model: Seq2Seq, source: Tensor, target: Tensor) -> None:
    model.zero_grad()
    hidden = model.hidden(target[:, :-1], model.encode(source, source != PAD))
    loss = F.cross_entropy(model.project(hidden).flatten(0, 1), target[:, 1:].flatten(), reduction="sum")
    loss.backward()
    unreached = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    model.zero_grad()
    assert not unreached


def everything_on(model: nn.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, module in model.named_modules():
        for key, value in module.__dict__.items():
            inner = value if isinstance(value, dict) else {"": value}
            found |= {f"{name}.{key}.{part}": id(thing) for part, thing in inner.items()}
    return found


def test_a_forward_pass_leaves_nothing_on_the_model(model: Seq2Seq, source: Tensor, target: Tensor) -> None:
    before, weights = everything_on(model), {name: tensor.clone() for name, tensor in model.state_dict().items()}
    trace = Trace()
    memory = model.encode(source, source != PAD, trace)
    model.hidden(target, memory, trace)
    model.step(target, model.start(memory), memory)
    assert everything_on(model) == before
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_a_step_leaves_its_state_as_it_was(model: Seq2Seq, memory: Memory, target: Tensor) -> None:
    """So that one prefix can be continued twice."""
    _, state = model.step(target[:, :2], model.start(memory), memory)
    once, _ = model.step(target[:, 2:4], state, memory)
    model.step(target[:, 4:], state, memory)
    again, _ = model.step(target[:, 2:4], state, memory)
    assert torch.equal(once, again)


def test_saved_weights_are_the_whole_model(
    model: Seq2Seq, build_like: Callable[..., Seq2Seq], source: Tensor, target: Tensor
) -> None:
    def logits(any_model: Seq2Seq) -> Tensor:
        return any_model.project(any_model.hidden(target, any_model.encode(source, source != PAD)))

    other = build_like(seed=2)
    assert not close(logits(other), logits(model))
    other.load_state_dict(model.state_dict())
    assert torch.equal(logits(other), logits(model))


def test_logits_have_one_place_a_target_token(model: Seq2Seq, memory: Memory, target: Tensor) -> None:
    hidden = model.hidden(target, memory)
    assert model.project(hidden).shape == (4, 6, model.target_vocab_size)
    assert close(model.project(hidden[:, 2]), model.project(hidden)[:, 2])
