"""The decoding half of the contract: what search gives for every model of the registry."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from seqloom.decode.beam import beam_search
from seqloom.decode.constraints import Rules
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.decode.sample import sample
from seqloom.decode.score import score
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.traced_attention import read_attention
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD


def padded(hypotheses: list[Hypothesis]) -> tuple[Tensor, Tensor]:
    """What the outputs of one sentence read and write, (N, T) both."""
    rows = [[*h.ids, *[EOS] * h.ended] for h in hypotheses]
    longest = max(map(len, rows))
    written = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    return torch.cat([torch.full((len(rows), 1), BOS), written[:, :-1]], 1), written


def forced(model: Seq2Seq, memory: Memory, hypotheses: list[Hypothesis]) -> list[float]:
    """The teacher-forced log-probability of each output of one sentence, all in one padded batch."""
    before, written = padded(hypotheses)
    return score(model, memory, before, written, written != PAD).tolist()


def repeat(memory: Memory, row: int, times: int) -> Memory:
    return memory.select(torch.full((times,), row))


def alike(got: list[Hypothesis], want: list[Hypothesis]) -> bool:
    assert [h.ids for h in got] == [h.ids for h in want]
    return [h.score for h in got] == pytest.approx([h.score for h in want], rel=1e-5)


def test_every_n_best_score_is_its_teacher_forced_score(model: Seq2Seq, memory: Memory) -> None:
    """The only test that sees a beam whose state was not reordered: the whole n-best, not the best."""
    for row, found in enumerate(search(model, memory, beam=5, n_best=5, length_penalty=0.8, max_length=7)):
        assert len({h.ids for h in found}) == 5
        want = forced(model, repeat(memory, row, 5), found)
        assert [h.log_prob for h in found] == pytest.approx(want, rel=1e-6)
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


PREFIXES = [(5, 4), (), (8,), (6, 6, 7)]


def test_options_keep_scores_honest(model: Seq2Seq, memory: Memory) -> None:
    """Minimum length, no-repeat n-grams and a prefix choose other outputs, never other log-probabilities."""
    options = SearchRequest(min_length=3, no_repeat_ngram=2, max_length=7)
    found = search(model, memory, options, beam=4, n_best=4, prefixes=PREFIXES)
    drawn = sample(model, memory, replace(options, sample=2), seeds=[1, 2, 3, 4], prefixes=PREFIXES)
    for row, outputs in enumerate([*map(list.__add__, found, drawn)]):
        want = forced(model, repeat(memory, row, len(outputs)), outputs)
        assert [h.log_prob for h in outputs] == pytest.approx(want, rel=1e-5)
        for h in outputs:
            pairs = list(itertools.pairwise(h.ids))
            assert len(set(pairs)) == len(pairs)
            assert len(h.ids) >= 3 and h.ids[: len(PREFIXES[row])] == PREFIXES[row]


def test_coverage_is_read_from_any_attention(model: Seq2Seq, memory: Memory) -> None:
    """cp = 0.5 * sum_j log(min(sum_i alpha_ij, 1)), from the weights of one teacher-forced pass."""
    trace = Trace()
    model.hidden(torch.full((4, 1), BOS), memory, trace)
    options = SearchRequest(beam=4, n_best=4, coverage_penalty=0.5, max_length=6)
    if read_attention(trace) is None:
        with pytest.raises(UsageError, match="has no attention"):
            search(model, memory, options)
        return
    for row, found in enumerate(search(model, memory, options)):
        trace = Trace()
        before, written = padded(found)
        model.hidden(before, repeat(memory, row, len(found)), trace)
        weights = read_attention(trace)
        assert weights is not None
        total = (weights * (written != PAD)[..., None]).sum(1)[:, memory.mask[row]]
        covered = total.clamp(max=1).log().sum(1).tolist()
        want = [h.log_prob / (len(h.ids) + h.ended) + 0.5 * cover for h, cover in zip(found, covered, strict=True)]
        assert [h.score for h in found] == pytest.approx(want, rel=1e-5)


def test_beam_one_is_greedy(model: Seq2Seq, memory: Memory) -> None:
    options = SearchRequest(beam=1).filled()
    with torch.inference_mode():
        beams = beam_search(model, memory, torch.full((4,), 7), options, Rules.of(options, None, memory))
    greedy = search(model, memory, beam=1, max_length=7)
    assert all(alike(a, b) for a, b in zip(greedy, beams, strict=True))


def test_greedy_takes_the_most_probable_token(model: Seq2Seq, memory: Memory) -> None:
    for row, (best,) in enumerate(search(model, memory, beam=1, max_length=7)):
        written = torch.tensor([[BOS, *best.ids]])
        logits = model.project(model.hidden(written, memory.select(torch.tensor([row]))))[0]
        logits[:, [PAD, BOS]] = -torch.inf
        assert logits.argmax(-1).tolist()[: len(best.ids)] == list(best.ids)
        assert len(best.ids) == 7 if not best.ended else logits[-1].argmax() == EOS


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_translates_the_same_alone_and_in_any_batch(
    model: Seq2Seq, memory: Memory, source: Tensor, beam: int
) -> None:
    together = search(model, memory, beam=beam, n_best=beam, max_length=7)
    order = [3, 1, 2, 0]
    shuffled = search(model, memory.select(torch.tensor(order)), beam=beam, n_best=beam, max_length=7)
    assert all(alike(shuffled[place], together[row]) for place, row in enumerate(order))
    for row in range(4):
        tokens = source[row : row + 1, : int(memory.mask[row].sum())]
        alone = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
        assert alike(search(model, alone, beam=beam, n_best=beam, max_length=7)[0], together[row])


def test_a_wide_beam_equals_brute_force(build_like: Callable[..., Seq2Seq], source: Tensor) -> None:
    """Three tokens may be written; up to two and EOS, or three cut off: 13 + 27 outputs, all of them found."""
    model = build_like(target_vocab_size=6, seed=3)
    tokens = source.clamp(max=5)
    memory = model.encode(tokens, source != PAD)
    every = [
        Hypothesis(ids, 0.0, 0.0, ended=length < 3)
        for length in range(4)
        for ids in itertools.product((3, 4, 5), repeat=length)
    ]
    for row, found in enumerate(search(model, memory, beam=40, n_best=40, max_length=3)):
        log_probs = forced(model, repeat(memory, row, 40), every)
        scored = [(log_prob / (len(h.ids) + h.ended), h.ids) for h, log_prob in zip(every, log_probs, strict=True)]
        scored.sort(reverse=True)
        assert [h.ids for h in found] == [ids for _, ids in scored]
        assert [h.score for h in found] == pytest.approx([value for value, _ in scored], rel=1e-5)


def test_the_longest_source_can_be_decoded_to_the_limit(
    build_like: Callable[..., Seq2Seq], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that never ends, on as many tokens as the settings allow: bounded, and within its positions."""
    model = build_like(max_tokens=2)
    project = model.project

    def never_end(hidden: Tensor) -> Tensor:
        return project(hidden).index_fill(-1, torch.tensor([EOS]), -1e4)

    monkeypatch.setattr(model, "project", never_end)
    memory = model.encode(torch.tensor([[5, 6, EOS]]), torch.ones(1, 3, dtype=torch.bool))
    ((best,),) = search(model, memory, beam=1)
    assert len(best.ids) == 2 * 3 + 50 and not best.ended
