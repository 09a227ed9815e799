"""What may be asked for its vectors, and what is said of the rest."""

import numpy as np
import pytest
import torch

from seqloom.config import DataConfig, load_config
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.runtime.sentence_vectors import SentenceVectors
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

WIDTH = 8


@pytest.fixture(scope="module", params=["transformer", "rnn"])
def vectors(request: pytest.FixtureRequest) -> SentenceVectors:
    tokenizer = learn_tokenizer("char", ["abcde fgh"], 300)
    settings = ["task.name=masked", f"model.kind={request.param}", f"model.width={WIDTH}", "model.heads=2"]
    torch.manual_seed(3)
    model = build_model(load_config(overrides=settings), len(tokenizer), len(tokenizer), True)
    data = DataConfig(max_tokens=20, normalise="nfc")
    return SentenceVectors(model, Tokenizers(tokenizer, tokenizer), data)


@pytest.mark.parametrize("none", [[], (), np.array([], str)])
def test_no_texts_have_no_rows_and_as_many_columns_as_any(vectors, none):
    found = vectors.embed(none)
    assert found.shape == (0, WIDTH) == (0, vectors.embed(["abc"]).shape[1])
    assert found.dtype == np.float32


def test_one_text_alone_is_no_list_of_texts(vectors):
    with pytest.raises(UsageError, match="want a list of texts, got one text: put it into a list"):
        vectors.embed("abc")
    with pytest.raises(UsageError, match="want a list of texts"):
        vectors.embed("")


def test_what_is_no_text_is_named_with_its_place(vectors):
    with pytest.raises(UsageError, match=r"line 2: character 3 is a lone surrogate \(U\+D83D\)"):
        vectors.embed(["abc", "ab\ud83d"])
    with pytest.raises(UsageError, match="line 1: want text, got int"):
        vectors.embed([7])


def test_a_text_is_normalised_as_in_training(vectors):
    one, other = vectors.embed(["é", "e\u0301"])
    assert one.tolist() == other.tolist()


def test_an_empty_text_has_a_vector(vectors):
    assert np.linalg.norm(vectors.embed(["", "abc"]), axis=1) == pytest.approx([1, 1], abs=1e-5)
