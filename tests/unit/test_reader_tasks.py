"""Batches and losses of classify, tag and masked: what is read, the answers, and their positions."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.config import DataConfig
from seqloom.data.batch import Batch
from seqloom.data.corpus import CorpusSpec
from seqloom.data.prepare import prepare
from seqloom.data.store import Store
from seqloom.models.api import Reader
from seqloom.models.encoder_only import BagReader, RecurrentReader
from seqloom.tasks.classify import Classify
from seqloom.tasks.masked import Masked, hide
from seqloom.tasks.tag import Tag
from seqloom.text.labels import learn_labels
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD, MASK, PAD, UNK

ROWS = {
    "labelled": ["pos\ta fine film", "neg\tdull", "pos\tfine fine"],
    "tagged": ["a fine film\tDET ADJ NOUN", "dull\tADJ", "fine film\tADJ NOUN"],
    "text": ["a fine film", "dull", "fine film"],
}


@pytest.fixture
def make_store(tmp_path: Path):
    """make_store(form) -> (store, tokenizers); a word is one token but "fine", which is two."""

    def make(form: str) -> tuple[Store, Tokenizers]:
        file = tmp_path / f"{form}.tsv"
        file.write_text("\n".join(ROWS[form]) + "\n", "utf-8")
        spec = CorpusSpec.parse(str(file), form=form)
        source = learn_tokenizer("bpe", ["a film dull a film dull film dull film", "fi fi ne ne"] * 9, 285)
        labels = {"labelled": ["pos", "neg"], "tagged": ["DET ADJ NOUN"], "text": []}[form]
        tokenizers = Tokenizers(source, learn_labels(labels) if labels else source)
        return prepare(tmp_path / f"store-{form}", [spec], tokenizers, DataConfig(), 1, [spec])[0], tokenizers

    return make


class Oracle(Reader):
    """Says each label with a logit of its own choice, and remembers what it read."""

    def __init__(self, vocab: int, whole_text: bool = False) -> None:
        super().__init__()
        self.target_vocab_size, self.whole_text = vocab, whole_text
        self.output = torch.nn.Linear(1, vocab)
        torch.nn.init.zeros_(self.output.weight)
        torch.nn.init.zeros_(self.output.bias)
        self.weight = self.output.weight.detach()[:, 0]  # of the same memory

    def hidden(self, tokens: Tensor, mask: Tensor, trace: object = None) -> Tensor:
        self.read = tokens, mask
        return torch.ones(len(tokens), 1 if self.whole_text else tokens.shape[1], 1)


def test_a_text_with_its_label(make_store) -> None:
    store, tokenizers = make_store("labelled")
    batch = Classify().load(store, np.array([1, 0]))
    ids = [tokenizers.source.encode(text) for text in ("dull", "a fine film")]
    rows = [[BOS, *one, EOS] + [PAD] * (len(ids[1]) - len(one)) for one in ids]
    assert batch.src.tolist() == rows
    assert torch.equal(batch.src_mask, batch.src != PAD)
    assert batch.tgt_out.tolist() == [tokenizers.target.encode("neg"), tokenizers.target.encode("pos")]
    assert batch.tgt_mask.tolist() == [[True], [True]]
    assert batch.indices.tolist() == [1, 0]


def test_a_text_with_its_tags_under_the_last_pieces(make_store) -> None:
    store, tokenizers = make_store("tagged")
    batch = Tag().load(store, np.array([0, 1]))
    det, adj, noun = tokenizers.target.encode("DET ADJ NOUN")
    pieces = tokenizers.source.pieces(batch.src[0].tolist())
    assert len(pieces) > 5  # "fine" is split
    assert batch.tgt_out.shape == batch.src.shape
    assert [pieces[i] for i in batch.tgt_mask[0].nonzero()[:, 0]] == ["a", pieces[-3], pieces[-2]]
    assert batch.tgt_out[0][batch.tgt_mask[0]].tolist() == [det, adj, noun]
    assert batch.tgt_out[1][batch.tgt_mask[1]].tolist() == [adj]
    assert batch.tgt_mask[1].tolist() == [
        False,
        *[i == len(tokenizers.source.encode("dull")) - 1 for i in range(len(pieces) - 1)],
    ]


@pytest.mark.parametrize("task", [Classify(), Tag()])
def test_the_loss_is_a_sum_over_what_is_to_be_said(task, make_store) -> None:
    store, tokenizers = make_store("labelled" if isinstance(task, Classify) else "tagged")
    batch = task.load(store, np.arange(3))
    model = Oracle(len(tokenizers.target), isinstance(task, Classify))
    with torch.no_grad():
        model.weight[FIRST_WORD] = 2.0
    found = task.loss(model, batch)
    wanted = batch.tgt_out[batch.tgt_mask]
    log_probs = model.weight[FIRST_WORD:].log_softmax(0)  # <pad> and its like are no labels
    assert found.num_tokens == len(wanted) == (3 if isinstance(task, Classify) else 6)
    assert found.nll.item() == pytest.approx(-log_probs[wanted - FIRST_WORD].sum().item(), rel=1e-5)
    assert torch.equal(model.read[0], batch.src) and torch.equal(model.read[1], batch.src_mask)
    smoothed = task.loss(model, batch, smoothing=0.5)
    assert smoothed.smoothed.item() != pytest.approx(smoothed.nll.item())


def text_batch(rows: int, width: int, first: int = FIRST_WORD) -> Batch:
    src = torch.full((rows, width), EOS)
    src[:, 0] = BOS
    src[:, 1:-1] = torch.arange(first, first + width - 2)
    src[-1, 3:] = PAD
    return Batch(src, src != PAD, src[:, :0], src, src >= FIRST_WORD, torch.arange(rows))


def test_how_many_words_are_hidden_and_how() -> None:
    torch.manual_seed(1)
    batch, vocab = text_batch(400, 102), 5000
    shown = hide(batch, 0.15, vocab)
    chosen = shown.tgt_mask
    assert chosen.sum().item() / batch.tgt_mask.sum().item() == pytest.approx(0.15, abs=0.01)
    assert not chosen[batch.src < FIRST_WORD].any()  # neither BOS, EOS nor padding
    assert torch.equal(shown.src[~chosen], batch.src[~chosen])
    assert torch.equal(shown.tgt_out, batch.src) and torch.equal(shown.src_mask, batch.src_mask)
    before, after = batch.src[chosen], shown.src[chosen]
    masked, kept = after == MASK, after == before
    assert masked.float().mean().item() == pytest.approx(0.8, abs=0.02)
    assert kept.float().mean().item() == pytest.approx(0.1, abs=0.02)
    other = after[~masked & ~kept]
    assert len(other) / len(after) == pytest.approx(0.1, abs=0.02)
    assert other.min() >= FIRST_WORD and vocab - 100 < other.max() < vocab
    assert len(other.unique()) > 0.9 * len(other) * (1 - len(other) / vocab)  # spread over the whole vocabulary


def test_other_words_each_time_and_the_same_ones_for_the_same_seed() -> None:
    batch = text_batch(20, 30)
    found = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        found.append(hide(batch, 0.15, 50))
    assert torch.equal(found[0].src, found[2].src) and torch.equal(found[0].tgt_mask, found[2].tgt_mask)
    assert not torch.equal(found[0].tgt_mask, found[1].tgt_mask)


def test_at_least_one_word_is_hidden() -> None:
    for seed in range(20):
        torch.manual_seed(seed)
        assert hide(text_batch(1, 4), 0.0, 50).tgt_mask.sum() == 1


def test_a_batch_without_a_single_known_word_teaches_nothing_and_breaks_nothing() -> None:
    """A vocabulary of words may know none of a text: all of it is <unk>."""
    src = torch.tensor([[BOS, UNK, UNK, EOS]])
    batch = Batch(src, src != PAD, src[:, :0], src, src >= FIRST_WORD, torch.arange(1))
    options = {"cell": "gru", "embed_size": 4, "width": 4, "layers": 1, "directions": ("forward",), "dropout": 0.0}
    model = RecurrentReader(9, 9, whole_text=False, tied=True, **options)
    found = Masked(0.15).loss(model, batch, smoothing=0.1)
    found.smoothed.backward()
    assert (found.nll.item(), found.smoothed.item(), found.num_tokens) == (0.0, 0.0, 1)
    assert all(math.isfinite(p.grad.sum()) for p in model.parameters() if p.grad is not None)


def test_the_loss_of_hidden_words_is_taken_there_and_nowhere_else(make_store) -> None:
    store, tokenizers = make_store("text")
    task = Masked(0.5)
    batch = task.load(store, np.arange(3))
    model = Oracle(len(tokenizers.target))
    torch.manual_seed(3)
    found = task.loss(model, batch)
    torch.manual_seed(3)
    asked = hide(batch, 0.5, len(tokenizers.target))
    assert torch.equal(model.read[0], asked.src) and (asked.src == MASK).any()
    assert found.num_tokens == asked.tgt_mask.sum()
    assert found.nll.item() == pytest.approx(found.num_tokens * math.log(len(tokenizers.target) - FIRST_WORD), rel=1e-5)


def test_dropout_stands_before_the_last_layer() -> None:
    torch.manual_seed(1)
    model = BagReader(9, 5, 64, 0.5)
    tokens = torch.tensor([[BOS, 5, EOS]])
    assert (model.train().hidden(tokens, tokens != PAD) == 0).float().mean() == pytest.approx(0.5, abs=0.25)
    assert (model.eval().hidden(tokens, tokens != PAD) != 0).all()
