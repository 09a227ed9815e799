"""Adding an attention score: a class that says whether query and key must be equally wide, a row, a name."""

import pytest

import seqloom
from seqloom.config import tables
from seqloom.errors import UsageError
from seqloom.nn.scores import SCORES, EntrywiseScore


class CosineScore(EntrywiseScore):
    """score(q, k) = q . k / (|q| |k|)."""

    def forward(self, query, keys, linear=None):
        unit = [x / x.norm(dim=-1, keepdim=True).clamp(min=1e-6) for x in (query, keys)]
        return unit[0] @ unit[1].mT


@pytest.fixture
def cosine(monkeypatch):
    monkeypatch.setitem(SCORES, "cosine", CosineScore)
    monkeypatch.setitem(tables.ATTENTIONS, "cosine", "q . k / (|q| |k|)")


@pytest.mark.parametrize("decoder", ["bahdanau", "luong"])
def test_a_score_is_trained_measured_and_served(cosine, through_every_verb, decoder):
    found = through_every_verb("model.kind=rnn", "model.attention=cosine", f"model.decoder={decoder}")
    _, _, weights = found.model.align("abc")
    assert weights.sum(1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("score", ["cosine", "dot", "scaled_dot", "gaussian"])
def test_unequal_widths_are_refused_before_anything_is_read_or_written(cosine, pairs, tmp_path, score):
    settings = ["model.kind=rnn", f"model.attention={score}", "model.width=16", "model.encoder_width=12"]
    with pytest.raises(UsageError, match=f"model.attention = {score} compares.*12 must equal model.width = 16"):
        seqloom.train(pairs, out=tmp_path / "new" / "run", overrides=settings, recipe="rnnsearch-small", quiet=True)
    assert not (tmp_path / "new").exists()
