"""Loaded models of every kind with random weights, in memory: what views measure is tested, not what models learned."""

from collections.abc import Callable
from typing import Any

import pytest

TEXTS = ["the cat sat on the mat .", "a small dog ran , and ran", "le chat dort là !", "un petit chien ?"]
SMALL = (
    "model.width=8 model.layers=2 model.heads=2 text.vocab_size=300 "
    "data.max_tokens=30 task.window=16 decode.beam=2 decode.min_length=3"
)
FAMILIES = {  # settings of the models that tests of all shapes of answer run on
    "rnn": "model.kind=rnn model.attention=additive",
    "luong": "model.kind=rnn model.cell=lstm model.decoder=luong model.attention=dot",
    "fixed": "model.kind=rnn model.cell=lstm model.attention=none model.bidirectional=false",
    "transformer": "model.kind=transformer",
    "gpt": "model.kind=gpt",
    "restores": "model.kind=transformer task.name=denoise",
    "rnn language": "model.kind=rnn model.cell=lstm model.attention=none task.name=language",
    "gpt language": "model.kind=gpt task.name=language",
    "classifier": "model.kind=rnn task.name=classify",
    "bag": "model.kind=bag task.name=classify",
    "tagger": "model.kind=transformer task.name=tag",
    "rnn tagger": "model.kind=rnn model.cell=lstm task.name=tag",
    "masked": "model.kind=transformer task.name=masked",
}


@pytest.fixture(scope="session")
def load() -> Callable[..., Any]:
    """load("transformer", "model.norm=post", tokenizer="bpe"): a loaded model. The same words give the same one."""
    from importlib import import_module

    import torch

    from seqloom.config import TASKS, load_config
    from seqloom.models.build import build_model
    from seqloom.runtime.answering import ANSWERERS
    from seqloom.text.labels import learn_labels
    from seqloom.text.learn import learn_tokenizer
    from seqloom.text.sides import Tokenizers
    from seqloom.text.vocabulary import EOS

    made: dict[Any, Any] = {}

    def make(family: str, *settings: str, tokenizer: str = "char", seed: int = 3) -> Any:
        key = (family, *settings, tokenizer, seed)
        if key not in made:
            words = [*SMALL.split(), f"text.tokenizer={tokenizer}", *FAMILIES[family].split(), *settings]
            config = load_config(overrides=words)
            shape = TASKS[config.task.name].shape
            source = learn_tokenizer(tokenizer, TEXTS, config.text.vocab_size)
            target = learn_labels(["A B", "C D"]) if shape in ("labels", "tags") else source
            torch.manual_seed(seed)
            model = build_model(config, len(source), len(target), source is target)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter += 0.3 * torch.randn_like(parameter)  # no zero and no one left, as after training
                if shape in ("writes", "restores"):
                    model.output.bias[EOS] += 3.5  # short outputs: tests take less time
            module, _, name = ANSWERERS[shape].partition(":")
            made[key] = getattr(import_module(module), name)(model.eval(), Tokenizers(source, target), config)
        return made[key]

    return make


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param
