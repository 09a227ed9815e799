"""The contract of encoder-only models, kept by every reader of the registry, for every task that has it."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from seqloom import config
from seqloom.models.api import Reader
from seqloom.models.build import BUILDERS, build_model
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD

TASKS = ("classify", "tag", "masked")
WORDS, LABELS = 13, 7
SHAPES: dict[str, list[list[str]]] = {
    "rnn": [
        *([f"model.cell={cell}"] for cell in config.CELLS),
        ["model.bidirectional=false", "model.layers=2", "model.cell=lstm"],
        ["model.bidirectional=false", "data.reverse_source=true"],
        ["model.layers=2", "model.embed_size=6", "model.encoder_width=12"],
        ["model.init_range=0.5"],
    ],
    "transformer": [
        *(
            [f"model.norm={norm}", f"model.positions={p}"]
            for norm, p in itertools.product(config.NORMS, config.POSITIONS)
        ),
        ["model.layers=2", "model.activation=gelu", "model.embed_norm=true", "model.embed_scale=false"],
        ["model.tied=false"],
    ],
    "bag": [[], ["model.embed_size=5"]],
}
CASES = [(task, kind, shape) for task in TASKS for kind in BUILDERS[config.TASKS[task].shape] for shape in SHAPES[kind]]


def build(task: str, kind: str, shape: list[str]) -> Reader:
    """In float64, with no zero and no one left among the weights, as after training."""
    small = ["model.width=8", "model.heads=2", "model.layers=1", "model.ffn_size=12", "model.dropout=0.0"]
    settings = config.load_config(None, [*small, f"task.name={task}", f"model.kind={kind}", *shape])
    joint = task == "masked"
    torch.manual_seed(1)
    model = build_model(settings, WORDS, WORDS if joint else LABELS, joint).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model.eval()


@pytest.fixture(params=CASES, ids=lambda case: "-".join([*case[:2], *(s.rpartition(".")[2] for s in case[2])]))
def case(request: pytest.FixtureRequest) -> tuple[str, str, list[str]]:
    return request.param


@pytest.fixture
def model(case: tuple[str, str, list[str]]) -> Reader:
    return build(*case)


@pytest.fixture(scope="module")
def source() -> Tensor:
    """(4, 6): BOS x EOS, padded; the third text is the longest, the second is empty."""
    return torch.tensor([
        [BOS, 5, 7, 4, EOS, PAD], [BOS, EOS, PAD, PAD, PAD, PAD], [BOS, 6, 6, 10, 8, EOS], [BOS, 4, EOS, PAD, PAD, PAD],
    ])  # fmt: skip


def close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=1e-10)


def real(hidden: Tensor, mask: Tensor) -> Tensor:
    """What counts: the one place of a whole text, or every real place."""
    return hidden[:, 0] if hidden.shape[1] == 1 else hidden[mask]


def test_one_place_for_a_whole_text_else_every_place(model: Reader, case: Any, source: Tensor) -> None:
    hidden = model.hidden(source, source != PAD)
    assert hidden.shape[:2] == (4, 1 if case[0] == "classify" else 6)
    assert model.project(hidden).shape == (*hidden.shape[:2], model.target_vocab_size)
    assert model.target_vocab_size == (WORDS if case[0] == "masked" else LABELS)


def test_padding_is_invisible(model: Reader, source: Tensor) -> None:
    """More of it, and something else in it."""
    mask = source != PAD
    want = real(model.hidden(source, mask), mask)
    wider = torch.cat([source, torch.full((4, 3), PAD)], 1)
    wide_mask = wider != PAD
    for tokens in (wider, torch.where(wide_mask, wider, 9)):
        assert close(real(model.hidden(tokens, wide_mask), wide_mask), want)


def test_a_text_alone_and_in_any_batch(model: Reader, source: Tensor) -> None:
    mask = source != PAD
    together = model.hidden(source, mask)
    for row in range(4):
        tokens = source[row : row + 1, : int(mask[row].sum())]
        alone = model.hidden(tokens, torch.ones_like(tokens, dtype=torch.bool))[0]
        assert close(alone, together[row, : len(alone)])
    order = torch.tensor([2, 0, 3, 1])
    assert close(real(model.hidden(source[order], mask[order]), mask[order]), real(together[order], mask[order]))


def test_which_places_a_word_reaches(model: Reader, case: Any, source: Tensor) -> None:
    """All; read in one direction only those that come after it."""
    mask = source != PAD
    before = model.hidden(source, mask)
    for place in range(1, 5):
        changed = source.clone()
        changed[2, place] = 11
        touched = (model.hidden(changed, mask) - before)[2].abs().amax(-1) > 1e-9
        wanted = torch.ones(6, dtype=torch.bool)
        if "model.bidirectional=false" in case[2]:
            backward = "data.reverse_source=true" in case[2]
            wanted = torch.arange(6) <= place if backward else torch.arange(6) >= place
        assert touched.tolist() == ([True] if case[0] == "classify" else wanted.tolist())


def test_only_a_bag_does_not_know_the_order(model: Reader, case: Any) -> None:
    """And a Transformer without positions: summed over the places, each word sees the same others."""
    tokens = torch.tensor([[BOS, 5, 7, 4, EOS], [BOS, 4, 5, 7, EOS]])
    one, other = model.hidden(tokens, tokens != PAD).sum(1)
    assert close(one, other) == (case[1] == "bag" or "model.positions=none" in case[2])


def test_traced_and_untraced_agree(model: Reader, case: Any, source: Tensor) -> None:
    trace, mask = Trace(), source != PAD
    traced = model.hidden(source, mask, trace)
    assert close(real(traced, mask), real(model.hidden(source, mask), mask))
    names = trace.names()
    if case[1] == "transformer":
        assert "encoder.self.0" in names
        weights = trace["encoder.self.0"][0]
        assert torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        assert (weights[~mask[:, None, None].expand_as(weights)] == 0).all()
    elif case[1] == "rnn":
        assert any(name.startswith("encoder.") for name in names)
    else:
        assert names == []


def test_every_weight_has_a_gradient(case: Any, source: Tensor) -> None:
    model, mask = build(*case).train(), source != PAD
    hidden = real(model.hidden(source, mask), mask)
    F.cross_entropy(model.project(hidden), torch.arange(len(hidden)) % model.target_vocab_size).backward()
    assert not [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]


def test_a_masked_model_says_the_words_it_reads() -> None:
    for kind, shape in (("transformer", []), ("rnn", ["model.embed_size=6"])):
        model = build("masked", kind, shape)
        assert model.output.weight is model.source_table.weight  # type: ignore[union-attr]
        free = build("masked", kind, [*shape, "model.tied=false"])
        assert free.output.weight is not free.source_table.weight  # type: ignore[union-attr]
