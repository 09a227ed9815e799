"""An ensemble is a model like any other: the contract holds for a recurrent network and a Transformer together."""

import itertools

import pytest
import torch
from torch import Tensor

from seqloom.config import load_config
from seqloom.decode.ensemble import Ensemble
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.decode.sample import sample
from seqloom.decode.score import score
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq, select_rows
from seqloom.models.build import build_model
from seqloom.models.traced_attention import read_attention
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD

KINDS = {
    "rnn": ["model.kind=rnn", "model.width=8", "model.layers=1"],
    "fixed": ["model.kind=rnn", "model.width=6", "model.layers=2", "model.attention=none", "model.cell=lstm"],
    "transformer": ["model.kind=transformer", "model.width=12", "model.heads=2", "model.layers=2"],
    "gpt": ["model.kind=gpt", "model.width=12", "model.heads=2", "model.layers=1", "model.positions=rotary"],
}


MEMBERS = [("rnn", "transformer"), ("transformer", "fixed"), ("fixed", "rnn", "rnn"), ("gpt", "transformer")]


def make(kind: str, seed: int = 1, vocab_size: int = 13) -> Seq2Seq:
    """Of its own width, in float64, with no zero left among the weights."""
    torch.manual_seed(seed)
    model = build_model(load_config(None, KINDS[kind]), vocab_size, vocab_size, joint=True).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model.eval()


@pytest.fixture(scope="module", params=MEMBERS)
def ensemble(request: pytest.FixtureRequest) -> Ensemble:
    return Ensemble([make(kind, seed) for seed, kind in enumerate(request.param)]).eval()


@pytest.fixture
def memory(ensemble: Ensemble, source: Tensor) -> Memory:
    with torch.no_grad():
        return ensemble.encode(source, source != PAD)


def forced(model: Seq2Seq, memory: Memory, row: int, hypotheses: list[Hypothesis]) -> list[float]:
    rows = [[*h.ids, *[EOS] * h.ended] for h in hypotheses]
    longest = max(map(len, rows))
    written = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in rows])
    before = torch.cat([torch.full((len(rows), 1), BOS), written[:, :-1]], 1)
    return score(model, memory.select(torch.full((len(rows),), row)), before, written, written != PAD).tolist()


@torch.no_grad()
def test_its_probability_is_the_mean_of_its_members(ensemble: Ensemble, source: Tensor, target: Tensor) -> None:
    mask = source != PAD
    parts = [m.project(m.hidden(target, m.encode(source, mask))).softmax(-1) for m in ensemble.members]
    got = ensemble.project(ensemble.hidden(target, ensemble.encode(source, mask)))
    torch.testing.assert_close(got.exp(), sum(parts) / len(parts))
    torch.testing.assert_close(got.exp().sum(-1), torch.ones_like(got[..., 0]))


@torch.no_grad()
def test_step_repeated_equals_hidden(ensemble: Ensemble, memory: Memory, target: Tensor) -> None:
    state, steps = ensemble.start(memory), []
    for tokens in target.split([1, 2, 1, 2], 1):  # k > 1 too: a prefix
        hidden, state = ensemble.step(tokens, state, memory)
        steps.append(hidden)
    torch.testing.assert_close(torch.cat(steps, 1), ensemble.hidden(target, memory))


@torch.no_grad()
def test_rows_can_be_reordered(ensemble: Ensemble, memory: Memory, target: Tensor) -> None:
    """Two hypotheses a sentence, swapped after two steps: each goes on from its own past."""
    rows = target.repeat_interleave(2, 0)
    rows[1::2, 1:] = rows[1::2, 1:].flip(1)
    _, state = ensemble.step(rows[:, :3], ensemble.start(memory, 2), memory)
    swapped = torch.arange(8).view(4, 2).flip(1).flatten()
    after, _ = ensemble.step(rows[swapped, 3:4], select_rows(state, swapped), memory)
    want, _ = ensemble.step(rows[:, 3:4], state, memory)
    torch.testing.assert_close(after, want[swapped])


@pytest.mark.parametrize("settings", [{}, {"min_length": 3, "no_repeat_ngram": 2, "coverage_penalty": 0.3}])
def test_every_n_best_score_is_its_teacher_forced_score(
    ensemble: Ensemble, memory: Memory, settings: dict[str, float]
) -> None:
    found = search(ensemble, memory, SearchRequest(beam=5, n_best=5, max_length=7, **settings))  # type: ignore[arg-type]
    for row, ranked in enumerate(found):
        assert len({h.ids for h in ranked}) == 5
        assert [h.log_prob for h in ranked] == pytest.approx(forced(ensemble, memory, row, ranked), rel=1e-5)
        assert [h.score for h in ranked] == sorted((h.score for h in ranked), reverse=True)


def test_a_wide_beam_equals_brute_force(source: Tensor) -> None:
    """Three tokens may be written; up to two and EOS, or three cut off: 13 + 27 outputs, all of them found."""
    ensemble = Ensemble([make("rnn", 3, vocab_size=6), make("transformer", 4, vocab_size=6)]).eval()
    memory = ensemble.encode(source.clamp(max=5), source != PAD)
    every = [
        Hypothesis(ids, 0.0, 0.0, ended=length < 3)
        for length in range(4)
        for ids in itertools.product((3, 4, 5), repeat=length)
    ]
    for row, found in enumerate(search(ensemble, memory, beam=40, n_best=40, max_length=3)):
        log_probs = forced(ensemble, memory, row, every)
        scored = [(log_prob / (len(h.ids) + h.ended), h.ids) for h, log_prob in zip(every, log_probs, strict=True)]
        scored.sort(reverse=True)
        assert [h.ids for h in found] == [ids for _, ids in scored]
        assert [h.score for h in found] == pytest.approx([value for value, _ in scored], rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_same_model_is_that_model(kind: str, source: Tensor) -> None:
    model = make(kind)
    twice = Ensemble([model, model]).eval()
    mask = source != PAD
    settings = SearchRequest(beam=4, n_best=4, max_length=7)
    want = search(model, model.encode(source, mask), settings)
    got = search(twice, twice.encode(source, mask), settings)
    for ranked, expected in zip(got, want, strict=True):
        assert [h.ids for h in ranked] == [h.ids for h in expected]
        assert [h.score for h in ranked] == pytest.approx([h.score for h in expected], rel=1e-6)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_translates_the_same_alone_and_in_any_batch(
    ensemble: Ensemble, memory: Memory, source: Tensor, beam: int
) -> None:
    together = search(ensemble, memory, beam=beam, n_best=beam, max_length=7)
    for row in range(4):
        tokens = source[row : row + 1, : int(memory.mask[row].sum())]
        alone = ensemble.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
        (found,) = search(ensemble, alone, beam=beam, n_best=beam, max_length=7)
        assert [h.ids for h in found] == [h.ids for h in together[row]]
        assert [h.score for h in found] == pytest.approx([h.score for h in together[row]], rel=1e-5)


def test_it_can_be_sampled(ensemble: Ensemble, memory: Memory) -> None:
    found = sample(ensemble, memory, SearchRequest(sample=3, max_length=6), seeds=[1, 2, 3, 4])
    for row, drawn in enumerate(found):
        assert [h.log_prob for h in drawn] == pytest.approx(forced(ensemble, memory, row, drawn), rel=1e-5)


@torch.no_grad()
def test_its_attention_is_the_mean_of_those_that_have_one(source: Tensor, target: Tensor) -> None:
    members = [make("rnn", 1), make("fixed", 2), make("transformer", 3)]
    ensemble = Ensemble(members).eval()
    mask = source != PAD

    def look(model: Seq2Seq) -> Tensor | None:
        trace = Trace()
        model.hidden(target, model.encode(source, mask), trace)
        return read_attention(trace)

    got, first, none, third = map(look, (ensemble, *members))
    assert got is not None and first is not None and none is None and third is not None
    torch.testing.assert_close(got, (first + third) / 2)
    torch.testing.assert_close(got.sum(-1), torch.ones(4, 6).double())
    assert look(Ensemble([members[1], members[1]]).eval()) is None


def test_members_of_other_vocabularies_are_refused() -> None:
    with pytest.raises(UsageError, match=r"same target vocabulary, got vocabularies of sizes \[11, 13\]"):
        Ensemble([make("rnn"), make("rnn", vocab_size=11)])
