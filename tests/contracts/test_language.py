"""The contract of language models: `read` continues from any state, and the source of a pair is only a prompt."""

import pytest
import torch
from torch import Tensor

from seqloom.models.api import LanguageModel, State, select_rows
from seqloom.text.vocabulary import EOS, PAD


@pytest.fixture(scope="module")
def tokens() -> Tensor:
    """(3, 7): a piece of a stream in each row; line ends among them."""
    return torch.tensor([[EOS, 5, 4, 8, EOS, EOS, 7], [6, 10, EOS, 4, 4, 9, 12], [11, 12, 3, 5, 9, 9, 5]])


def close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=1e-10)


def read(model: LanguageModel, *parts: Tensor) -> tuple[Tensor, State]:
    """The parts one after the other, the state carried from each to the next."""
    state, hidden = model.begin(len(parts[0])), []
    for part in parts:
        found, state = model.read(part, state)
        hidden.append(found)
    return torch.cat(hidden, 1), state


@pytest.mark.parametrize("lengths", [[1] * 7, [3, 4], [1, 5, 1], [6, 1]])
def test_reading_in_pieces_is_reading_the_whole(
    language_model: LanguageModel, tokens: Tensor, lengths: list[int]
) -> None:
    whole, _ = read(language_model, tokens)
    pieces, _ = read(language_model, *tokens.split(lengths, 1))
    assert close(pieces, whole)


def test_the_state_is_what_was_read_before(language_model: LanguageModel, tokens: Tensor) -> None:
    """Without it, or with another row's, the rest reads differently."""
    whole, _ = read(language_model, tokens)
    _, state = read(language_model, tokens[:, :4])
    alone, _ = read(language_model, tokens[:, 4:])
    assert not close(alone, whole[:, 4:])
    order = torch.tensor([2, 0, 1])
    moved, _ = language_model.read(tokens[order, 4:], select_rows(state, order))
    assert close(moved, whole[order, 4:])
    wrong, _ = language_model.read(tokens[:, 4:], select_rows(state, order))
    assert not close(wrong, whole[:, 4:])


def test_a_later_token_changes_nothing_before_it(language_model: LanguageModel, tokens: Tensor) -> None:
    before, _ = read(language_model, tokens)
    for t in range(1, tokens.shape[1]):
        changed = tokens.clone()
        changed[:, t] = 4 + changed[:, t] % 5
        after, _ = read(language_model, changed)
        assert close(after[:, :t], before[:, :t])
        assert not close(after[:, t], before[:, t])


def test_a_reading_leaves_its_state_as_it_was(language_model: LanguageModel, tokens: Tensor) -> None:
    _, state = read(language_model, tokens[:, :3])
    once, _ = language_model.read(tokens[:, 3:], state)
    language_model.read(tokens[:, 5:], state)
    again, _ = language_model.read(tokens[:, 3:], state)
    assert torch.equal(once, again)


def test_a_source_is_a_past_like_any_other(language_model: LanguageModel, tokens: Tensor) -> None:
    """encode + step, padding and beams included, is `read` of source and target as one sequence."""
    lengths = [4, 2, 3]
    source = tokens[:, :4].clone()
    for row, length in enumerate(lengths):
        source[row, length:] = PAD
    mask = torch.arange(4) < torch.tensor(lengths)[:, None]
    target = tokens[:, 4:]
    memory = language_model.encode(source, mask)
    hidden = language_model.hidden(target, memory)
    beams, _ = language_model.step(target.repeat_interleave(2, 0), language_model.start(memory, 2), memory)
    for row, length in enumerate(lengths):
        whole, _ = read(language_model, torch.cat([tokens[row : row + 1, :length], target[row : row + 1]], 1))
        assert close(hidden[row], whole[0, length:])
        assert close(beams[2 * row], whole[0, length:]) and close(beams[2 * row + 1], whole[0, length:])
        assert close(memory.annotations[row, :length], whole[0, :length])
