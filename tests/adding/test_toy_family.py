"""Adding a family of models: a record (which answers, whose settings), a class that keeps the contract, a row."""

import pytest
import torch
from torch import nn

from seqloom.config import FAMILIES, Family
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.build import BUILDERS


class Averages(Seq2Seq):
    """Says the next token from the mean of the source's vectors and the last token: a bag with a decoder."""

    def __init__(self, source_size, target_size, width):
        super().__init__()
        self.target_vocab_size = target_size
        self.source, self.target = nn.Embedding(source_size, width), nn.Embedding(target_size, width)
        self.output = nn.Linear(width, target_size)

    def encode(self, tokens, mask, trace=None):
        vectors = self.source(tokens) * mask[..., None]
        return Memory(vectors, mask, last=vectors.sum(1) / mask.sum(1, keepdim=True))

    def start(self, memory, beams=1):
        return {"mean": memory.last.repeat_interleave(beams, 0)}

    def step(self, tokens, state, memory, trace=None):
        return torch.tanh(self.target(tokens) + state["mean"][:, None]), state


@pytest.fixture
def averages(monkeypatch):
    monkeypatch.setitem(FAMILIES, "averages", Family(("writes",), settings="averages"))
    builders = {
        **BUILDERS["writes"],
        "averages": lambda config, source, target, joint: Averages(source, target, config.model.width),
    }
    monkeypatch.setitem(BUILDERS, "writes", builders)


def test_a_family_is_trained_measured_and_served(averages, through_every_verb):
    found = through_every_verb("model.kind=averages")
    assert isinstance(found.model.model, Averages)


def test_settings_of_other_families_are_refused(averages, pairs, tmp_path):
    import seqloom
    from seqloom.errors import UsageError

    with pytest.raises(
        UsageError, match=r"model\.heads is only for model\.kind = transformer, but here it is averages"
    ):
        seqloom.train(pairs, out=tmp_path / "x", overrides=["model.kind=averages", "model.heads=2"], quiet=True)
