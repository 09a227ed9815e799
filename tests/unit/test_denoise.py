"""The task denoise: what the model reads and should write; the noise depends only on the seed of the loop."""

import numpy as np
import pytest
import torch

from seqloom.config import load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.prepare import prepare
from seqloom.data.store import Store
from seqloom.tasks.build import build_task
from seqloom.tasks.denoise import Denoise
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, MASK, PAD

LINES = [f"the cat number {n} sat . it purred ! and slept" for n in range(40)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("text")
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    tokenizer = learn_tokenizer("word", LINES, 100)
    spec = CorpusSpec.parse(str(folder / "text.txt"), form="text")
    return prepare(folder / "store", [spec], Tokenizers(tokenizer, tokenizer), load_config().data, 1)[0]


def test_the_target_is_the_text_and_the_source_what_noise_left(store: Store) -> None:
    torch.manual_seed(1)
    indices = np.array([3, 5])
    batch = Denoise(0.5, permute=False).load(store, indices)
    for row, index in enumerate(indices):
        ids = store.pair_ids(index)[0]
        assert batch.tgt_out[row].tolist() == [*ids, EOS]
        assert batch.tgt_in[row].tolist() == [BOS, *ids]
        source = batch.src[row][batch.src_mask[row]].tolist()
        assert source[-1] == EOS
        assert MASK in source
        left = iter(ids)
        assert all(token in left for token in source[:-1] if token != MASK)  # in their order
    assert (batch.src[~batch.src_mask] == PAD).all()


def test_noise_is_new_each_time_and_follows_from_the_seed(store: Store) -> None:
    task, indices = Denoise(0.3, permute=False), np.arange(8)
    torch.manual_seed(5)
    first, second = (task.load(store, indices).src for _ in range(2))
    torch.manual_seed(5)
    again = task.load(store, indices).src
    assert torch.equal(first, again)
    assert first.shape != second.shape or not torch.equal(first, second)


def test_sentences_are_permuted_when_asked_to(store: Store) -> None:
    task = build_task(load_config(overrides=["task.name=denoise", "task.permute=true", "task.hide=0"]))
    tokenizer = learn_tokenizer("word", LINES, 100)
    task.know_pieces(tokenizer.pieces(range(len(tokenizer))))
    torch.manual_seed(2)
    batch = task.load(store, np.arange(30))
    same = (batch.src == batch.tgt_out).all(1)
    assert torch.equal(batch.src.sort(1)[0], batch.tgt_out.sort(1)[0])
    assert 0 < same.sum() < 20  # one order of six is the text's own
