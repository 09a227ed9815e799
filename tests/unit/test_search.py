"""Greedy and beam search against a slow search that is nothing but the rules in the docstring of decode/search.py."""

import math

import pytest
import torch
from torch import Tensor, nn

from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.score import score
from seqloom.decode.search import beam_search, search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD, UNK

VOCAB = 9


class Recorder(Seq2Seq):
    """A random recurrent model in float64. Its state carries the whole past: a row out of place changes the scores."""

    def __init__(self, seed: int, vocab: int = VOCAB, end: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.target_vocab_size = vocab
        self.table = nn.Parameter(torch.randn(vocab, 6, dtype=torch.float64))
        self.mix = nn.Parameter(torch.randn(6, 6, dtype=torch.float64))
        self.out = nn.Parameter(1.5 * torch.randn(6, vocab, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(vocab, dtype=torch.float64))
        self.bias.data[EOS] = end
        self.rows_seen: list[tuple[int, int]] = []  # (rows of memory, rows of state) at each step

    def encode(self, tokens: Tensor, mask: Tensor, trace: Trace | None = None) -> Memory:
        annotations = self.table[tokens] * mask[..., None]
        return Memory(annotations, mask, last=annotations.sum(1))

    def start(self, memory: Memory, beams: int = 1) -> State:
        return {"h": [memory.last.repeat_interleave(beams, 0)], "position": 0}

    def step(self, tokens: Tensor, state: State, memory: Memory, trace: Trace | None = None) -> tuple[Tensor, State]:
        self.rows_seen.append((len(memory.mask), len(tokens)))
        (h,), position = state["h"], state["position"]
        beams = len(tokens) // len(memory.mask)
        source = memory.last[torch.arange(len(tokens)) // beams]
        hidden = []
        for token in tokens.unbind(1):
            h = torch.tanh(h @ self.mix + self.table[token] + 0.3 * source + 0.1 * position)
            position += 1
            hidden.append(h)
        return torch.stack(hidden, 1), {"h": [h], "position": position}

    def hidden(self, tokens: Tensor, memory: Memory, trace: Trace | None = None) -> Tensor:
        return self.step(tokens, self.start(memory), memory)[0]

    def project(self, hidden: Tensor) -> Tensor:
        return hidden @ self.out + self.bias


def sources(num: int = 5) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([3, 1, 4, 2, 2])[:num]
    mask = torch.arange(4) < lengths[:, None]
    tokens = torch.randint(4, VOCAB, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    return tokens, mask


def rule_book(model: Recorder, memory: Memory, beam: int, n_best: int, penalty: float, limit: int) -> list[Hypothesis]:
    """One sentence, Python lists, every prefix scored from scratch."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    done: list[Hypothesis] = []
    best_ended = False
    for step in range(1, limit + 1):
        candidates = []
        for log_prob, ids in live:
            logits = model.project(model.hidden(torch.tensor([[BOS, *ids]]), memory)[:, -1])
            for token, value in enumerate(logits.log_softmax(-1)[0].tolist()):
                if token not in (PAD, BOS):
                    candidates.append((log_prob + value, [*ids, token]))
        candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * beam]
        for rank, (log_prob, ids) in enumerate(candidates[:beam]):
            if ids[-1] == EOS or step == limit:
                ended = ids[-1] == EOS
                words = tuple(ids[:-1] if ended else ids)
                done.append(Hypothesis(words, log_prob, log_prob / len(ids) ** penalty, ended))
                best_ended |= rank == 0
        live = [c for c in candidates if c[1][-1] != EOS][:beam]
        if (best_ended and len(done) >= n_best) if penalty == 0 else len(done) >= beam:
            break
    return sorted(done, key=lambda h: -h.score)[:n_best]


def same(got: list[list[Hypothesis]], want: list[list[Hypothesis]]) -> bool:
    for sentence_got, sentence_want in zip(got, want, strict=True):
        assert [(h.ids, h.ended) for h in sentence_got] == [(h.ids, h.ended) for h in sentence_want]
        for g, w in zip(sentence_got, sentence_want, strict=True):
            assert (g.log_prob, g.score) == pytest.approx((w.log_prob, w.score), rel=1e-6)
    return True


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (2, 1), (3, 3), (6, 4)])
def test_search_follows_the_rules(seed: int, penalty: float, beam: int, n_best: int) -> None:
    model = Recorder(seed, end=[-2.0, 0.0, 1.0][seed % 3])
    memory = model.encode(*sources())
    got = search(model, memory, beam=beam, n_best=n_best, length_penalty=penalty, max_length=7)
    rows = [memory.select(torch.tensor([row])) for row in range(5)]
    assert same(got, [rule_book(model, row, beam, n_best, penalty, limit=7) for row in rows])


@pytest.mark.parametrize("seed", range(4))
def test_beam_one_is_greedy(seed: int) -> None:
    model = Recorder(seed)
    memory = model.encode(*sources())
    limits = torch.full((5,), 9)
    with torch.inference_mode():
        assert same(search(model, memory, beam=1, max_length=9), beam_search(model, memory, limits, 1, 1, 1.0))


def test_a_beam_wider_than_the_vocabulary_finds_every_sequence() -> None:
    """5 writable tokens and EOS, at most 2 of them: 1 empty, 5 ended after one, 25 cut off."""
    model = Recorder(0, vocab=8)
    memory = model.encode(*(part % 8 for part in sources(1)[:1]), sources(1)[1])
    (found,) = search(model, memory, beam=40, n_best=40, max_length=2)
    assert len(found) == len({h.ids for h in found}) == 31
    assert sum(math.exp(h.log_prob) for h in found) < 1
    assert all(math.isfinite(h.log_prob) for h in found)
    assert sorted({(len(h.ids), h.ended) for h in found}) == [(0, True), (1, True), (2, False)]


def test_every_score_is_the_teacher_forced_one() -> None:
    model = Recorder(3, end=-1.0)
    memory = model.encode(*sources(1))
    (found,) = search(model, memory, beam=8, n_best=8, length_penalty=0.7, max_length=5)
    assert {h.ended for h in found} == {True, False}
    for h in found:
        written = torch.tensor([[*h.ids, *[EOS] * h.ended]])
        before = torch.cat([torch.tensor([[BOS]]), written[:, :-1]], 1)
        forced = score(model, memory, before, written, torch.ones_like(written, dtype=torch.bool))
        assert h.log_prob == pytest.approx(forced.item(), rel=1e-6)
        assert h.score == pytest.approx(h.log_prob / (len(h.ids) + h.ended) ** 0.7)


def test_score_ignores_padding() -> None:
    model = Recorder(1)
    memory = model.encode(*sources(2))
    target = torch.tensor([[5, 4, EOS, PAD, PAD], [7, 6, 8, 4, EOS]])
    before = torch.cat([torch.full((2, 1), BOS), target[:, :-1]], 1)
    both = score(model, memory, before, target, target != PAD)
    alone = score(model, memory.select(torch.tensor([0])), before[:1, :3], target[:1, :3], target[:1, :3] != PAD)
    log_probs = model.project(model.hidden(before, memory)).log_softmax(-1)
    want = sum(log_probs[0, t, token].item() for t, token in enumerate([5, 4, EOS]))
    assert both.shape == (2,)
    assert both[0].item() == pytest.approx(alone.item()) == pytest.approx(want)


@pytest.mark.parametrize("beam", [1, 3])
def test_memory_is_never_copied_and_finished_sentences_leave(beam: int) -> None:
    model = Recorder(2, end=1.0)
    search(model, model.encode(*sources()), beam=beam, max_length=12)
    memory_rows = [rows for rows, _ in model.rows_seen]
    assert all(state_rows == beam * rows for rows, state_rows in model.rows_seen)
    assert memory_rows[0] == 5 and memory_rows[-1] < 5
    assert memory_rows == sorted(memory_rows, reverse=True)


@pytest.mark.parametrize("beam", [1, 4])
def test_output_is_bounded_by_each_source_alone(beam: int) -> None:
    """A model that never ends: 2 x source length + 50 tokens, whatever else is in the batch."""
    model = Recorder(0, end=-1e4)
    found = search(model, model.encode(*sources()), beam=beam)
    assert [len(best.ids) for (best,) in found] == [56, 52, 58, 54, 54]
    assert not any(best.ended for (best,) in found)


def test_pad_and_bos_are_never_written_but_unk_is() -> None:
    model = Recorder(0)
    model.bias.data[[PAD, BOS]] = 50.0
    model.bias.data[UNK] = 20.0
    memory = model.encode(*sources())
    for beam in (1, 4):
        found = search(model, memory, beam=beam, n_best=beam, max_length=4)
        written = {token for sentence in found for h in sentence for token in h.ids}
        assert UNK in written and not written & {PAD, BOS, EOS}
        assert all(h.log_prob < -20 for sentence in found for h in sentence)  # the model's own: not renormalised


def test_an_output_may_be_empty() -> None:
    model = Recorder(0, end=30.0)
    memory = model.encode(*sources(1))
    for beam in (1, 3):
        ((best,),) = search(model, memory, beam=beam)
        assert best.ids == () and best.score == best.log_prob == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"beam": 2, "n_best": 3}, {"n_best": 0}, {"max_length": 0}])
def test_impossible_requests_are_refused(wrong: dict[str, int]) -> None:
    model = Recorder(0)
    with pytest.raises(UsageError, match="want"):
        search(model, model.encode(*sources()), **wrong)


def test_half_precision_is_summed_in_float32() -> None:
    model = Recorder(0).to(torch.bfloat16)
    memory = model.encode(*sources())
    (best,), *_ = search(model, memory, beam=4, max_length=6)
    assert best.log_prob != float(torch.tensor(best.log_prob).bfloat16())


@pytest.mark.parametrize("beam", [1, 3])
def test_a_broken_model_ends_too(beam: int) -> None:
    model = Recorder(0)
    model.out.data.fill_(math.nan)
    found = search(model, model.encode(*sources()), beam=beam, n_best=beam, max_length=6)
    assert all(sentence and math.isnan(sentence[0].log_prob) for sentence in found)


@pytest.mark.parametrize("beam", [1, 3])
def test_no_sentence_no_answer(beam: int) -> None:
    model = Recorder(0)
    assert search(model, model.encode(*(part[:0] for part in sources())), beam=beam) == []
