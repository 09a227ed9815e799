"""The probability of given targets: the same alone and in any batch, for any model and every length."""

import math

import pytest
import torch

from seqloom.config import load_config
from seqloom.decode.ensemble import Ensemble
from seqloom.decode.score import score
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.runtime import scoring
from seqloom.runtime.scoring import log_probs, score_pairs
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS

TEXTS = ["a small cat sat on the mat.", "the dog ran. then it slept!", "un petit chat dort", "où est-il ? là-bas"]
SMALL = ("model.width=8", "model.layers=1", "text.vocab_size=300", "data.max_tokens=20", "train.batch_tokens=64")
KINDS = {
    "rnn": ("model.kind=rnn", "text.tokenizer=char"),
    "fixed": ("model.kind=rnn", "model.attention=none", "model.cell=lstm"),
    "transformer": ("model.kind=transformer", "model.heads=2"),
}
SOURCES = ["the cat", "a dog ran", "the cat", "slept", "the mat. the mat", "the cat"]
TARGETS = ["un chat", "le chien", "le chat dort là", "", "x", "un chat dort"]


def make(*settings, seed=3):
    torch.manual_seed(seed)
    config = load_config(overrides=[*SMALL, *settings])
    tokenizer = learn_tokenizer(config.text.tokenizer, TEXTS, config.text.vocab_size)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return Translator(model, Tokenizers(tokenizer, tokenizer), config)


@pytest.fixture(scope="module", params=KINDS)
def translator(request):
    return make(*KINDS[request.param])


@pytest.fixture(scope="module")
def rnn():
    return make(*KINDS["rnn"])


def score_alone(translator, source, target):
    """One pair, no padding, by the function that search is tested with."""
    src = torch.tensor([[*translator.tokenizers.source.encode(source), EOS]])
    ids = translator.tokenizers.target.encode(target)
    memory = translator.model.encode(src, torch.ones_like(src, dtype=torch.bool))
    tgt_in, tgt_out = torch.tensor([[BOS, *ids]]), torch.tensor([[*ids, EOS]])
    return score(translator.model, memory, tgt_in, tgt_out, torch.ones_like(tgt_in, dtype=torch.bool)).item()


@pytest.mark.parametrize("most_tokens", [1, 40, 2048])
def test_a_pair_scores_the_same_alone_and_in_any_batch(translator, most_tokens, monkeypatch):
    monkeypatch.setattr(scoring, "MOST_TOKENS", most_tokens)
    expected = [score_alone(translator, *pair) for pair in zip(SOURCES, TARGETS, strict=True)]
    assert len(set(expected)) == len(expected)
    assert log_probs(translator, SOURCES, TARGETS) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("by", ["tokens", "logits"])
def test_batches_stay_within_their_size_and_hold_every_pair_once(rnn, by, monkeypatch):
    limits = {"tokens": ("MOST_TOKENS", 40), "logits": ("MOST_LOGITS", 40 * rnn.model.target_vocab_size)}
    monkeypatch.setattr(scoring, *limits[by])
    pairs = scoring.encode_pairs(rnn, SOURCES, TARGETS, lines=(), warn=pytest.fail)
    batches = [*scoring.forced_batches(rnn, [None, *pairs])]
    assert sorted(row for batch in batches for row in batch.rows) == [1, 2, 3, 4, 5, 6]
    assert len(batches) > 1
    for batch in batches:
        assert len(batch.rows) == 1 or len(batch.rows) * max(batch.src.shape[1], batch.tgt_in.shape[1]) <= 40


def test_a_source_of_many_targets_is_encoded_once(rnn, monkeypatch):
    sizes = []
    encode = type(rnn.model).encode
    monkeypatch.setattr(
        type(rnn.model), "encode", lambda self, src, mask: sizes.append(len(src)) or encode(self, src, mask)
    )
    log_probs(rnn, ["the cat"] * 9 + ["the mat"], ["un chat"] * 10)
    assert sizes == [2]


def test_tokens_and_their_mean(rnn):
    found = score_pairs(rnn, ["the cat"], ["un"])[0]
    assert rnn.tokenizers.target.pieces(found.ids) == ["u", "n", "</s>"]
    assert found.log_prob == pytest.approx(sum(found.token_log_probs))
    assert found.mean == pytest.approx(found.log_prob / 3)
    shorter = score_pairs(rnn, ["the cat"], ["u"])[0]
    assert found.token_log_probs[0] == pytest.approx(shorter.token_log_probs[0], abs=1e-5)


def test_an_ensemble_scores_with_the_mean_probability(rnn):
    other = make(*KINDS["transformer"], "text.tokenizer=char")
    both = Translator(Ensemble([rnn.model, other.model]), rnn.tokenizers, rnn.config)
    parts = [score_pairs(one, SOURCES, TARGETS) for one in (rnn, other, both)]
    for first, second, together in zip(*parts, strict=True):
        means = [
            math.log((math.exp(a) + math.exp(b)) / 2)
            for a, b in zip(first.token_log_probs, second.token_log_probs, strict=True)
        ]
        assert together.token_log_probs == pytest.approx(means, abs=1e-4)


def test_what_cannot_be_scored_is_nan_and_named(rnn):
    """Sources of 20 tokens, and targets as long as a search writes them: 2 * (20 + 1) + 50, one of them </s>."""
    said = []
    sources = ["a" * 20, "a" * 21, "", " ", "a", "a"]
    targets = ["x", "x", "x", "x", "x" * 91, "x" * 92]
    found = log_probs(rnn, sources, targets, lines=[11, 12, 13, 14, 15, 16], warn=said.append)
    assert [math.isnan(value) for value in found] == [False, True, True, True, False, True]
    assert said == [
        "line 12: a source of 21 tokens; the model can read 20",
        "line 13: the source is empty",
        "line 14: the source is empty",
        "line 16: a target of 92 tokens; the model can read 91",
    ]


def test_sides_of_different_length_are_refused(rnn):
    with pytest.raises(UsageError, match="2 sources and 1 targets"):
        log_probs(rnn, ["a", "b"], ["c"])
    assert log_probs(rnn, [], []) == []
