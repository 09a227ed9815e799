"""While one thread explains a text, others translate with the same model, and nothing changes for them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from seqloom.inside.attribution import uniform_attention
from seqloom.inside.hooks import hooked
from seqloom.inside.input_gradients import embeddings_as_leaves
from seqloom.inside.lens import outputs_of


def encoded_and_hidden(model):
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9]])
    with torch.no_grad():
        return model.hidden(target, model.encode(source, torch.ones_like(source, dtype=torch.bool)))


@pytest.mark.parametrize("family", ["rnn", "transformer"])
def test_another_thread_is_answered_as_always(load, family):
    model = load(family).model
    plain = encoded_and_hidden(model)
    with ThreadPoolExecutor(1) as other:
        with embeddings_as_leaves(model, torch.zeros(1, 1, 1)) as leaves:
            assert torch.equal(other.submit(encoded_and_hidden, model).result(), plain)
            assert leaves == [], "the other thread's look-ups are not ours"
            assert not torch.equal(encoded_and_hidden(model), plain) and len(leaves) == 2
        with uniform_attention(model) as is_uniform:
            assert is_uniform and torch.equal(other.submit(encoded_and_hidden, model).result(), plain)
            assert not torch.equal(encoded_and_hidden(model), plain)
        with outputs_of([model.source_table]) as found:
            other.submit(encoded_and_hidden, model).result()
            assert found == []
            encoded_and_hidden(model)
            assert found


def test_a_hook_is_gone_after_an_error():
    part = torch.nn.Identity()
    with pytest.raises(KeyError), hooked([part], lambda *_: torch.zeros(1)):
        raise KeyError
    assert not part._forward_hooks
