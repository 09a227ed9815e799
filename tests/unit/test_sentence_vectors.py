"""Which models give sentence vectors, and the error for the others."""

import numpy as np
import pytest
import torch

from seqloom.config import DataConfig, load_config
from seqloom.errors import UsageError
from seqloom.models.api import Reader
from seqloom.models.build import build_model
from seqloom.runtime.sentence_vectors import SentenceVectors
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS

WIDTH = 8


KINDS = {
    "masked transformer": "task.name=masked model.kind=transformer",
    "masked rnn": "task.name=masked model.kind=rnn",
    "classifier": "task.name=classify model.kind=rnn",
    "fixed vector": "model.kind=rnn model.cell=lstm model.attention=none model.bidirectional=false",
    "attention": "model.kind=rnn model.attention=additive",
    "transformer": "model.kind=transformer",
    "gpt": "model.kind=gpt",
    "gpt language": "task.name=language model.kind=gpt task.window=12 model.positions=learned",
    "rnn language": "task.name=language model.kind=rnn model.attention=none",
}


@pytest.fixture(scope="module", params=KINDS)
def vectors(request: pytest.FixtureRequest) -> SentenceVectors:
    tokenizer = learn_tokenizer("char", ["abcde fgh"], 300)
    settings = [*KINDS[request.param].split(), f"model.width={WIDTH}", "model.heads=2", "data.max_tokens=20"]
    torch.manual_seed(3)
    model = build_model(load_config(overrides=settings), len(tokenizer), len(tokenizer), True)
    data = DataConfig(max_tokens=20, normalise="nfc")
    continues = "language" in request.param
    return SentenceVectors(model, Tokenizers(tokenizer, tokenizer), data, continues=continues)


def test_a_vector_is_the_mean_over_the_tokens_or_the_last_state(vectors):
    texts = ["abc", "", "a fgh", "abcde" * 10]
    together = vectors.vectors(texts)
    in_context = vectors.tokens(texts)
    for text, vector, (pieces, states) in zip(texts, together, in_context, strict=True):
        assert np.allclose(vector, vectors.vectors([text])[0], atol=1e-5)  # padding and order change nothing
        assert np.allclose(states, vectors.tokens([text])[0][1], atol=1e-5)
        assert len(pieces) == len(states) <= 22
        if vectors.has_fixed_vector:
            assert np.allclose(vector, states[-1], atol=1e-5)  # it reads forwards: its last state
        else:
            assert np.allclose(vector, states.mean(0), atol=1e-5)
        assert np.allclose(vectors.embed([text])[0], vector / np.linalg.norm(vector), atol=1e-5)
    assert in_context[0][0][-1 if not vectors.continues else 0] == "</s>"
    assert [piece for piece in in_context[0][0] if len(piece) == 1] == [*"abc"]


def test_states_are_those_of_the_contract(vectors):
    model, ids = vectors.model, vectors.tokenizer.encode("abc")
    with torch.inference_mode():
        if isinstance(model, Reader):
            tokens = torch.tensor([[BOS, *ids, EOS]])
            want = model.hidden(tokens, torch.ones_like(tokens, dtype=torch.bool))[0]
            want = want.expand(5, -1)
        elif vectors.continues:
            want = model.read(torch.tensor([[EOS, *ids]]), model.begin(1))[0][0]
        else:
            tokens = torch.tensor([[*ids, EOS]])
            want = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool)).annotations[0]
    assert np.allclose(vectors.tokens(["abc"])[0][1], want, atol=1e-5)


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
    with pytest.raises(UsageError, match=r"line 1: want text, got \d+ \(int\)"):
        vectors.embed([7])


def test_a_text_is_normalised_as_in_training(vectors):
    one, other = vectors.embed(["é", "e\u0301"])
    assert one.tolist() == pytest.approx(other.tolist(), abs=1e-6)


def test_an_empty_text_has_a_vector(vectors):
    assert np.linalg.norm(vectors.embed(["", "abc"]), axis=1) == pytest.approx([1, 1], abs=1e-5)
