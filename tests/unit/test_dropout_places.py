"""Where dropout stands: what a place that drops everything cuts off has no gradient, and nothing else is cut off.

A place is a module and its how-manyeth call; `*` is every call of it, where a loop over time makes many.
"""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from seqloom.config import load_config
from seqloom.models.api import LanguageModel, Reader
from seqloom.models.build import build_model
from seqloom.nn.dropout import Dropout
from seqloom.text.vocabulary import BOS, EOS, PAD

SOURCE = torch.tensor([[5, 7, 4, EOS], [8, EOS, PAD, PAD]])
TARGET = torch.tensor([[BOS, 6, 9, 4], [BOS, 5, 5, 7]])
Places = dict[str, tuple[str, str]]  # place -> (parts cut off, parts that still learn), by the beginning of their names

ENCODER_CELLS: Places = {"encoder.dropout#0": ("encoder.layers.1.cells.0.W_x", "encoder.layers.1.cells.0.W_h")}
DECODER_CELLS: Places = {
    "decoder.stack.dropout#*": ("decoder.stack.cells.0 decoder.stack.cells.1.W_x", "decoder.stack.cells.1.W_h")
}


def recurrent(words: int, **more: tuple[str, str]) -> Places:
    """`words`: the how-manyeth call is the one for the words of the target; the last is for what is projected."""
    return {
        "dropout#0": ("source_table", "target_table encoder"),
        **ENCODER_CELLS,
        f"dropout#{words}": ("target_table", "source_table decoder"),
        **DECODER_CELLS,
        f"dropout#{words + 1}": ("source_table target_table encoder decoder output.weight", "output.bias"),
        **more,
    }


FIXED = recurrent(1)
# Nothing but the last states, which begin the decoder, comes from the encoder where the annotations are dropped.
ATTENDING = recurrent(2, **{"dropout#1": ("decoder.score", "encoder target_table source_table")})


def block(name: str, *around: str) -> Places:
    """The places of a Transformer's block; around each sublayer, and inside the feed-forward layer."""
    ffn = f"{name}.feed_forward"
    sublayers = {f"{name}.around_{part}.dropout#0": (f"{name}.{part}", ffn) for part in around}
    return sublayers | {
        f"{ffn}.dropout#0": (f"{ffn}.W_1 {ffn}.W_2.weight", f"{ffn}.W_2.bias {name}.attention"),
        f"{name}.around_feed_forward.dropout#0": (ffn, f"{name}.attention"),
    }


TRANSFORMER: Places = {
    "dropout#0": ("source_table", "target_table encoder"),
    **block("encoder.0", "attention"),
    "dropout#1": ("target_table", "source_table decoder"),
    **block("decoder.0", "attention", "cross"),
    "decoder.0.around_cross.dropout#0": ("decoder.0.cross encoder source_table", "decoder.0.attention target_table"),
}
MODELS: dict[str, tuple[str, Places]] = {
    "fixed": ("model.kind=rnn model.attention=none", FIXED),
    "bahdanau": ("model.kind=rnn", ATTENDING),
    "luong": ("model.kind=rnn model.decoder=luong model.cell=lstm", ATTENDING),
    "pre": ("model.kind=transformer model.layers=1 model.norm=pre", TRANSFORMER),
    "post": ("model.kind=transformer model.layers=1 model.norm=post", TRANSFORMER),
    "gpt": (
        "task.name=language model.kind=gpt model.layers=1",
        {"dropout#0": ("target_table", "decoder"), **block("decoder.0", "attention")},
    ),
    "language": (
        "task.name=language model.kind=rnn model.attention=none",
        {
            "dropout#0": ("target_table", "decoder"),
            **DECODER_CELLS,
            "dropout#1": ("target_table decoder output.weight", "output.bias"),
        },
    ),
    "tag": (
        "task.name=tag model.kind=rnn",
        {
            "dropout#0": ("source_table", "encoder"),
            "encoder.dropout#0": ("source_table encoder.layers.0 encoder.layers.1.cells.0.W_x", "encoder.layers.1"),
            "dropout#1": ("source_table encoder output.weight", "output.bias"),
        },
    ),
    "classify": (
        "task.name=classify model.kind=transformer model.layers=1",
        {
            "dropout#0": ("source_table", "encoder"),
            **block("encoder.0", "attention"),
            "dropout#1": ("source_table encoder output.weight", "output.bias"),
        },
    ),
    "bag": (
        "task.name=classify model.kind=bag",
        {"dropout#0": ("source_table output.weight", "output.bias")},
    ),
}
SIZES = ["model.width=8", "model.heads=2", "model.dropout=0.3", "model.tied=false"]


def build(settings: str) -> nn.Module:
    torch.manual_seed(1)
    config = load_config(None, [*SIZES, *(["model.layers=2"] if "layers" not in settings else []), *settings.split()])
    model: nn.Module = build_model(config, 10, 10, False).double().train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def logits(model: nn.Module) -> Tensor:
    if isinstance(model, Reader):
        return model.project(model.hidden(SOURCE, SOURCE != PAD))
    if isinstance(model, LanguageModel):
        return model.project(model.read(TARGET, model.begin(len(TARGET)))[0])
    return model.project(model.hidden(TARGET, model.encode(SOURCE, SOURCE != PAD)))


def run(model: nn.Module, place: str, monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], dict[str, bool]]:
    """The places that were met, and whether each weight has a gradient, where `place` drops all and no other does."""
    names = {module: name for name, module in model.named_modules()}
    calls: Counter[str] = Counter()

    def forward(self: Dropout, x: Tensor) -> Tensor:
        name = names[self]
        calls[name] += 1
        return x * 0 if place in (f"{name}#{calls[name] - 1}", f"{name}#*") else x

    with monkeypatch.context() as patched:
        patched.setattr(Dropout, "forward", forward)
        found = logits(model)
        weight = torch.randn(found.shape, dtype=found.dtype, generator=torch.Generator().manual_seed(2))
        gradients = torch.autograd.grad((found * weight).sum(), [*model.parameters()], allow_unused=True)
    met = {f"{name}#{number}" for name, number_of in calls.items() for number in range(number_of)}
    parts = [name for name, _ in model.named_parameters()]
    return met, {name: g is not None and bool(g.any()) for name, g in zip(parts, gradients, strict=True)}


def matching(names: dict[str, bool], beginnings: str) -> Iterator[tuple[str, list[bool]]]:
    for beginning in beginnings.split():
        found = [learns for name, learns in names.items() if f"{name}.".startswith(f"{beginning}.")]
        assert found, f"no weight of that name: {beginning}"
        yield beginning, found


@pytest.mark.parametrize("name", MODELS)
def test_every_place_and_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, places = MODELS[name]
    model = build(settings)
    met, _ = run(model, "", monkeypatch)
    every = {place: f"{place.partition('#')[0]}#*" for place in met}
    assert {every[place] if every[place] in places else place for place in met} == set(places)
    for place, (cut_off, learning) in places.items():
        _, learns = run(model, place, monkeypatch)
        for part, found in matching(learns, cut_off):
            assert not any(found), f"{part} learns though {place} drops all"
        for part, found in matching(learns, learning):
            assert any(found), f"{part} does not learn where {place} drops all"


@pytest.mark.parametrize("name", MODELS)
def test_every_place_has_the_share_of_the_settings(name: str) -> None:
    drops = [module for module in build(MODELS[name][0]).modules() if isinstance(module, Dropout)]
    assert {module.dropped_of_256 for module in drops} == {round(0.3 * 256)}
