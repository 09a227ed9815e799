"""The longest target that may be scored fits every model, learned positions included; one token more does not."""

import math

import pytest
import torch

from seqloom.config import load_config
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.runtime.scoring import log_probs
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

MOST = 20  # tokens of a source
SETTINGS = ["model.width=8", "model.layers=1", "model.heads=2", "text.tokenizer=char", f"data.max_tokens={MOST}"]
KINDS = [
    "model.kind=rnn",
    "model.kind=rnn model.attention=none",
    "model.kind=transformer model.positions=learned",
    "model.kind=gpt model.positions=learned",
]


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        ("model.kind=transformer", 2 * MOST + 52),
        ("model.kind=gpt", 3 * MOST + 53),
        ("model.kind=transformer task.name=tag", MOST + 2),
        ("model.kind=gpt task.name=language task.window=30", 30),
    ],
)
def test_learned_places_that_the_longest_text_would_leave_are_refused_at_once(kind: str, needed: int) -> None:
    settings = [*SETTINGS, *kind.split(), "model.positions=learned"]
    load_config(None, [*settings, f"model.max_length={needed}"])
    load_config(None, [*settings, "model.max_length=6", "model.positions=sinusoidal"])
    with pytest.raises(UsageError, match=rf"(set data.max_tokens to {MOST - 1}|use {needed - 1}) or less"):
        load_config(None, [*settings, f"model.max_length={needed - 1}"])
    if "tag" not in kind:  # a reader has more than it needs
        model = build_model(load_config(None, settings), 300, 300, True)
        assert len(model.target_positions.table) == needed


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_pair(kind: str) -> None:
    torch.manual_seed(1)
    config = load_config(None, [*SETTINGS, *kind.split()])
    tokenizer = learn_tokenizer("char", ["a cat", "x"], 300)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    translator = Translator(model, Tokenizers(tokenizer, tokenizer), config)
    longest = SearchRequest().limit(MOST + 1) - 1
    assert longest == 2 * (MOST + 1) + 50 - 1 == len(tokenizer.encode("x" * longest))
    found = log_probs(translator, ["a" * MOST] * 2, ["x" * longest, "x" * (longest + 1)], warn=lambda message: None)
    assert math.isfinite(found[0])
    assert math.isnan(found[1])
