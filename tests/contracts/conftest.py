"""Every model of the registry in the shapes its settings give it, tiny and in float64. A new one is tested at once."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom import config
from seqloom.models.api import LanguageModel, Memory, Seq2Seq
from seqloom.models.build import BUILDERS, build_model
from seqloom.text.vocabulary import BOS, EOS, PAD

SMALL = {"model.width": 8, "model.heads": 2, "model.ffn_size": 12, "model.dropout": 0.0}
GRIDS: dict[str, dict[str, Any]] = {
    "rnn": {
        "cell": config.CELLS,
        "attention": config.ATTENTIONS,
        "decoder": config.DECODERS,
        "layers": (1, 2),
        "bidirectional": (False, True),
    },
    "transformer": {"norm": config.NORMS, "positions": config.POSITIONS, "tied": (False, True), "layers": (1, 2)},
    "gpt": {"norm": config.NORMS, "positions": config.POSITIONS, "tied": (False, True), "layers": (1, 2)},
}
ODD_SHAPES: list[dict[str, Any]] = [  # other depths and widths of the two sides, and settings of a single decoder
    {"kind": "rnn", "layers": 2, "decoder_layers": 1, "tied": False, "embed_size": 6, "encoder_width": 12},
    {"kind": "rnn", "layers": 1, "decoder_layers": 3, "cell": "lstm", "embed_size": 10, "decoder": "luong"},
    {"kind": "rnn", "bidirectional": False, "reverse_source": True, "attention": "none", "layers": 2, "cell": "lstm"},
    {"kind": "rnn", "bidirectional": False, "reverse_source": True, "attention": "bilinear", "encoder_width": 6},
    {"kind": "rnn", "attention": "none", "feed_context": True, "encoder_width": 6, "layers": 1},
    {"kind": "rnn", "embed_scale": False, "embed_size": 6, "layers": 1},
    {"kind": "rnn", "maxout": 5, "tied": False, "embed_size": 6, "layers": 1, "init_range": 0.5},
    {"kind": "transformer", "layers": 2, "decoder_layers": 1},
]
LANGUAGE: list[dict[str, Any]] = [  # models that go on with any text; a GPT learns pairs too and is in the grids
    {"name": "language", "kind": "rnn", "attention": "none", "layers": 1 + number % 2, "cell": cell}
    for number, cell in enumerate(config.CELLS)
] + [{"name": "language", "kind": "rnn", "attention": "none", "embed_size": 6, "layers": 1, "tied": False}]


def shapes() -> Iterator[Any]:
    """Each value of each setting; `make test-all` shows any two values of any two settings together."""
    for kind in BUILDERS["writes"]:
        grid = GRIDS.get(kind, {"layers": (1, 2)})
        every = [{"kind": kind, **dict(zip(grid, values, strict=True))} for values in itertools.product(*grid.values())]
        every = [shape for shape in every if (shape.get("attention"), shape.get("decoder")) != ("none", "luong")]
        everyday = covering(every, 1)
        for shape in everyday + [shape for shape in covering(every, 2) if shape not in everyday]:
            yield pytest.param(shape, id=name_of(shape), marks=[] if shape in everyday else [pytest.mark.slow])
    yield from (pytest.param(shape, id=name_of(shape)) for shape in ODD_SHAPES + LANGUAGE)


def covering(every: list[dict[str, Any]], together: int) -> list[dict[str, Any]]:
    """Few shapes in which any so many values meet that some shape has together."""

    def groups(shape: dict[str, Any]) -> set[Any]:
        return set(itertools.combinations(shape.items(), together))

    chosen, unseen = [], set().union(*map(groups, every))
    while unseen:
        chosen.append(max(every, key=lambda shape: len(groups(shape) & unseen)))
        unseen -= groups(chosen[-1])
    return chosen


def name_of(shape: dict[str, Any]) -> str:
    return "-".join(value if isinstance(value, str) else f"{key}={value}" for key, value in shape.items())


def build(shape: dict[str, Any], target_vocab_size: int = 13, seed: int = 1, **data: int) -> Seq2Seq:
    """A model with no zero and no one left among its weights, as after training. Untied ones have two vocabularies."""
    section = {"reverse_source": "data", "name": "task"}
    settings = {**SMALL, **{f"{section.get(key, 'model')}.{key}": value for key, value in shape.items()}}
    settings |= {f"data.{key}": value for key, value in data.items()}
    overrides = [f"{key}={str(value).lower()}" for key, value in settings.items()]
    joint = shape.get("tied", True)
    torch.manual_seed(seed)
    model = build_model(config.load_config(None, overrides), 13 if joint else 11, target_vocab_size, joint).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
        if shape.get("cell") == "rnn_relu":
            tame(model)
    return model.eval()


def tame(model: Seq2Seq) -> None:
    """A ReLU has no upper bound and no slope below 0: keep its states small and its units alive."""
    for name, parameter in model.named_parameters():
        if name.endswith(".W_h"):
            parameter *= 0.4
        elif name.endswith(".b"):
            parameter.abs_().add_(0.5)


@pytest.fixture(scope="session", params=list(shapes()))
def shape(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.fixture(scope="session")
def model(shape: dict[str, Any]) -> Seq2Seq:
    return build(shape)


@pytest.fixture(
    scope="session", params=LANGUAGE + [{"kind": "gpt", "positions": p} for p in config.POSITIONS], ids=name_of
)
def language_model(request: pytest.FixtureRequest) -> LanguageModel:
    return build({"name": "language", **request.param})


@pytest.fixture
def build_like(shape: dict[str, Any]) -> Callable[..., Seq2Seq]:
    """Another model of the same shape: build_like(target_vocab_size=6, seed=2)."""
    return lambda **changes: build(shape, **changes)


@pytest.fixture(scope="session")
def source() -> Tensor:
    """(4, 5): four sentences of different length, each ended by EOS, padded."""
    return torch.tensor([[5, 7, 4, EOS, PAD], [9, EOS, PAD, PAD, PAD], [6, 6, 10, 8, EOS], [4, 5, EOS, PAD, PAD]])


@pytest.fixture(scope="session")
def target() -> Tensor:
    """(4, 6): what the decoder reads, BOS first."""
    words = torch.tensor([[5, 4, 8, 9, 7], [6, 10, 6, 4, 4], [11, 12, 3, 5, 9], [8, 8, 7, 12, 6]])
    return torch.cat([torch.full((4, 1), BOS), words], 1)


@pytest.fixture
def memory(model: Seq2Seq, source: Tensor) -> Memory:
    with torch.no_grad():
        return model.encode(source, source != PAD)
