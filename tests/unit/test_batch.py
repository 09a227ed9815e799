"""Batches: the layout of the tensors, and what is masked."""

import numpy as np
import pytest
import torch

from seqloom.config import DataConfig
from seqloom.data.batch import Batch, collate, pad_sources, pad_targets
from seqloom.data.corpus import CorpusSpec
from seqloom.data.prepare import prepare
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD


@pytest.fixture
def store(tmp_path):
    pairs = [("ab" * (n % 7 + 1), "c" * (n % 5 + 1)) for n in range(40)]
    (tmp_path / "p.tsv").write_text("".join(f"{source}{n}\t{target}\n" for n, (source, target) in enumerate(pairs)))
    plain = learn_tokenizer("char", ["abc"], 300)
    specs = [CorpusSpec.parse(str(tmp_path / "p.tsv"))]
    return prepare(tmp_path / "store", specs, Tokenizers(plain, plain), DataConfig(valid_pairs=4), 1)[0]


def test_sources_end_with_eos_and_no_row_is_empty():
    src, src_mask = pad_sources([[7, 8, 9], [], [5]])
    assert src.tolist() == [[7, 8, 9, EOS], [EOS, PAD, PAD, PAD], [5, EOS, PAD, PAD]]
    assert src_mask.tolist() == [[True] * 4, [True, False, False, False], [True, True, False, False]]
    assert src.dtype == torch.int64 and src_mask.dtype == torch.bool


def test_targets_are_shifted():
    tgt_in, tgt_out, tgt_mask = pad_targets([[7, 8], [9]])
    assert tgt_in.tolist() == [[BOS, 7, 8], [BOS, 9, PAD]]
    assert tgt_out.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert tgt_mask.tolist() == [[True, True, True], [True, True, False]]


def test_no_rows():
    src, src_mask = pad_sources([])
    assert src.shape == src_mask.shape == (0, 1)


def test_collate_equals_padding_by_hand(store):
    indices = np.array([30, 2, 11, 2])
    batch = collate(store, indices)
    sources, targets = zip(*(store.pair_ids(index) for index in indices), strict=True)
    src, src_mask = pad_sources(sources)
    tgt_in, tgt_out, tgt_mask = pad_targets(targets)
    for name, wanted in {
        "src": src, "src_mask": src_mask, "tgt_in": tgt_in, "tgt_out": tgt_out, "tgt_mask": tgt_mask,
    }.items():  # fmt: skip
        got = getattr(batch, name)
        assert torch.equal(got, wanted) and got.dtype == wanted.dtype
    assert batch.indices.tolist() == indices.tolist() and len(batch) == 4
    assert batch.src.shape[1] == max(map(len, sources)) + 1  # no wider than it must be
    assert batch.tgt_in.shape[1] == max(map(len, targets)) + 1


def test_moving_keeps_every_part(store):
    batch = collate(store, np.arange(3))
    moved = batch.to("meta")
    assert isinstance(moved, Batch)
    for name, part in vars(batch).items():
        assert getattr(moved, name).device.type == "meta" and getattr(moved, name).shape == part.shape


def test_a_batch_cannot_be_changed(store):
    with pytest.raises(AttributeError):
        collate(store, np.arange(3)).src = None
