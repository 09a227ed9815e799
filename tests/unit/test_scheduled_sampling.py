"""The model's own words among the correct ones: how many, where, which, and the same again from the same seed."""

import pytest
import torch
from torch import Tensor

from seqloom.config import load_config
from seqloom.data.batch import Batch, pad_sources, pad_targets
from seqloom.models.api import Seq2Seq
from seqloom.models.build import BUILDERS, build_model
from seqloom.tasks.scheduled_sampling import show_own_words
from seqloom.tasks.translate import translation_loss
from seqloom.training.precision import products_in

VOCAB = 30


def make_model(kind: str) -> Seq2Seq:
    torch.manual_seed(1)
    settings = [f"model.kind={kind}", "model.width=8", "model.heads=2", "model.layers=1", "model.dropout=0.0"]
    return build_model(load_config(None, settings), VOCAB, VOCAB, True)


def make_batch(rows: int = 40) -> Batch:
    random = torch.Generator().manual_seed(3)
    texts = [torch.randint(4, VOCAB, (3 + row % 6,), generator=random).tolist() for row in range(rows)]
    return Batch(*pad_sources(texts), *pad_targets(texts), torch.arange(rows))


def shown(model: Seq2Seq, batch: Batch, share: float, seed: int = 5) -> Tensor:
    memory = model.encode(batch.src, batch.src_mask)
    torch.manual_seed(seed)
    return show_own_words(model, memory, batch, share)


@pytest.mark.parametrize("kind", BUILDERS["writes"])
def test_all_words_are_what_the_model_says_after_the_true_ones(kind: str) -> None:
    model, batch = make_model(kind), make_batch()
    memory = model.encode(batch.src, batch.src_mask)
    said = model.project(model.hidden(batch.tgt_in, memory)).argmax(-1)
    got = shown(model, batch, 1.0)
    assert torch.equal(got[:, 0], batch.tgt_in[:, 0])  # BOS
    words = batch.tgt_mask[:, 1:]
    assert torch.equal(got[:, 1:][words], said[:, :-1][words])
    assert torch.equal(got[:, 1:][~words], batch.tgt_in[:, 1:][~words])  # padding


def test_about_the_share_is_replaced_and_the_seed_decides_which() -> None:
    model, batch = make_model("rnn"), make_batch(600)
    before = batch.tgt_in.clone()
    own = shown(model, batch, 1.0)
    got = shown(model, batch, 0.25)
    assert torch.equal(batch.tgt_in, before)
    differ = own != before  # where a replacement shows
    share = ((got != before) & differ).sum() / differ.sum()
    assert 0.2 < float(share) < 0.3
    assert torch.equal(got, shown(model, batch, 0.25))
    assert not torch.equal(got, shown(model, batch, 0.25, seed=6))


def test_the_loss_is_of_the_true_words() -> None:
    """Other inputs, the same wanted outputs; gradients as ever. No share: teacher forcing to the bit."""
    model, batch = make_model("rnn"), make_batch()
    plain = translation_loss(model, batch)
    assert torch.equal(translation_loss(model, batch, own_share=0.0).nll, plain.nll)
    torch.manual_seed(5)
    mixed = translation_loss(model, batch, own_share=1.0)
    want = translation_loss(
        model, Batch(batch.src, batch.src_mask, shown(model, batch, 1.0), batch.tgt_out, batch.tgt_mask, batch.indices)
    )
    assert mixed.num_tokens == plain.num_tokens
    assert torch.equal(mixed.nll, want.nll)
    assert not torch.equal(mixed.nll, plain.nll)
    mixed.smoothed.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("kind", BUILDERS["writes"])
def test_rounded_weights_have_a_gradient_after_a_pass_without_one(kind: str) -> None:
    """Autocast keeps the weights it has rounded; those of the pass that says the own words lead nowhere."""
    model = make_model(kind)
    with products_in("bfloat16", torch.device("cpu")):
        translation_loss(model, make_batch(), own_share=0.5).smoothed.backward()
    assert not [name for name, parameter in model.named_parameters() if parameter.grad is None]
