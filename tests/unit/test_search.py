"""Greedy and beam search against a slow search that is nothing but the rules in the docstring of decode/search.py."""

import itertools
import math

import pytest
import torch

from seqloom.decode.beam import beam_search
from seqloom.decode.constraints import Rules
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.decode.score import score
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS, PAD, UNK

PREFIXES = [(), (5,), (4, 4, 6), (8, 7), (UNK,)]
OPTIONS = {
    "plain": {},
    "no length penalty": {"length_penalty": 0.0},
    "minimum": {"min_length": 3},
    "no word twice": {"no_repeat_ngram": 1},
    "no pair twice": {"no_repeat_ngram": 2},
    "coverage": {"coverage_penalty": 0.8},
    "coverage alone": {"coverage_penalty": 0.8, "length_penalty": 0.0},
    "all": {"min_length": 4, "no_repeat_ngram": 2, "coverage_penalty": 0.3, "length_penalty": 0.6},
    "too much": {"min_length": 6, "no_repeat_ngram": 1},  # six tokens may be written: at times nothing is left
}


def one(parts):
    return tuple(part[:1] for part in parts)


def repeat(memory, times):
    """The memory of one sentence for so many outputs."""
    return memory.select(torch.zeros(times, dtype=torch.long))


def padded(outputs):
    """What each output reads and writes, (N, T) both."""
    longest = max(map(len, outputs))
    written = torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in outputs])
    return torch.cat([torch.full((len(outputs), 1), BOS), written[:, :-1]], 1), written


def covered(model, memory, outputs):
    """sum_j log(min(sum_i alpha_ij, 1)) of each output of one sentence, from one pass over all of them."""
    trace = Trace()
    before, written = padded(outputs)
    model.hidden(before, repeat(memory, len(outputs)), trace)
    weights = torch.cat(trace["decoder.attention"], 1) * (written != PAD)[..., None]  # (N, T, S)
    return weights.sum(1)[:, memory.mask[0]].clamp(max=1).log().sum(1).tolist()


def forced(model, memory, outputs):
    before, written = padded(outputs)
    return score(model, repeat(memory, len(outputs)), before, written, written != PAD).tolist()


def may_follow(ids, token, options, prefix):
    if len(ids) < len(prefix):
        return token == prefix[len(ids)]
    if token == EOS:
        return len(ids) >= options.min_length
    n = options.no_repeat_ngram
    groups = {tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)}
    return not (n and (*ids[len(ids) - n + 1 :], token) in groups)


def rule_book(model, memory, options, limit, prefix=()):
    """One sentence, Python lists, every prefix scored from scratch."""
    beam = options.beam
    live = [(0.0, [])]
    done, best_ended = [], False
    for step in range(1, limit + 1):
        candidates = []
        written = torch.tensor([[BOS, *ids] for _, ids in live])
        logits = model.project(model.hidden(written, repeat(memory, len(live)))[:, -1])
        for (log_prob, ids), values in zip(live, logits.log_softmax(-1).tolist(), strict=True):
            allowed = [t for t in range(EOS, len(values)) if may_follow(ids, t, options, prefix)]
            candidates += [(log_prob + values[token], [*ids, token]) for token in allowed or [EOS]]
        candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * beam]
        for rank, (log_prob, ids) in enumerate(candidates[:beam]):
            if ids[-1] == EOS or step == limit:
                ended = ids[-1] == EOS
                value = log_prob / len(ids) ** options.length_penalty
                if options.coverage_penalty:
                    value += options.coverage_penalty * covered(model, memory, [ids])[0]
                done.append(Hypothesis(tuple(ids[:-1] if ended else ids), log_prob, value, ended))
                best_ended |= rank == 0
        live = [c for c in candidates if c[1][-1] != EOS][:beam]
        early = options.length_penalty == 0 and options.coverage_penalty == 0
        if not live or ((best_ended and len(done) >= options.n_best) if early else len(done) >= beam):
            break
    return sorted(done, key=lambda h: -h.score)[: options.n_best]


def same(got, want):
    for sentence_got, sentence_want in zip(got, want, strict=True):
        assert [(h.ids, h.ended) for h in sentence_got] == [(h.ids, h.ended) for h in sentence_want]
        for g, w in zip(sentence_got, sentence_want, strict=True):
            assert (g.log_prob, g.score) == pytest.approx((w.log_prob, w.score), rel=1e-5, abs=1e-6)
    return True


@pytest.mark.parametrize("settings", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("prefixes", [None, PREFIXES], ids=["free", "prefix"])
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (3, 3), (6, 4)])
def test_search_follows_the_rules(settings, prefixes, beam, n_best, make_model, five):
    options = SearchRequest(beam=beam, n_best=n_best, **settings, max_length=7).filled()
    for seed, end in enumerate([-1.0, 1.0]):
        model = make_model(seed, end=end)
        memory = model.encode(*five)
        got = search(model, memory, options, prefixes=prefixes)
        rows = [memory.select(torch.tensor([row])) for row in range(5)]
        begins = prefixes or [()] * 5
        assert same(got, [rule_book(model, row, options, 7, begin) for row, begin in zip(rows, begins, strict=True)])


def is_lawful(ids, options, prefix):
    """The rules as laws of a whole output, not of a step."""
    n = options.no_repeat_ngram
    groups = [ids[i : i + n] for i in range(len(ids) - n + 1)] if n else []
    return len(ids) >= options.min_length and ids[: len(prefix)] == prefix and len(set(groups)) == len(groups)


@pytest.mark.parametrize("prefix", [(), (4, 5)], ids=["free", "prefix"])
@pytest.mark.parametrize("settings", [*OPTIONS.values()][:-1], ids=[*OPTIONS][:-1])
def test_a_wide_beam_equals_brute_force(settings, prefix, make_model, five):
    """Three tokens may be written; up to four and EOS, or five cut off: of all of these, the lawful ones."""
    options = SearchRequest(beam=400, n_best=400, **settings, max_length=5).filled()
    model = make_model(1, vocab=6)
    memory = model.encode(*one(five))
    every = [ids for length in range(6) for ids in itertools.product((3, 4, 5), repeat=length)]
    lawful = [ids for ids in every if is_lawful(ids, options, prefix)]
    written = [[*ids, *[EOS] * (len(ids) < 5)] for ids in lawful]
    values = [
        p / len(ids) ** options.length_penalty for p, ids in zip(forced(model, memory, written), written, strict=True)
    ]
    if options.coverage_penalty:
        values = [
            v + options.coverage_penalty * c for v, c in zip(values, covered(model, memory, written), strict=True)
        ]
    want = list(zip(values, lawful, strict=True))
    want.sort(reverse=True)
    # Without penalties search may stop once the best has ended: no later one can be better, so the front must agree.
    (found,) = search(model, memory, options, prefixes=[prefix])
    assert [h.ids for h in found] == [ids for _, ids in want][: len(found)]
    assert [h.score for h in found] == pytest.approx([value for value, _ in want][: len(found)], rel=1e-5)
    assert len(found) == len(want) or (options.length_penalty == 0 and options.coverage_penalty == 0)


@pytest.mark.parametrize("settings", OPTIONS.values(), ids=OPTIONS)
def test_every_log_prob_is_the_teacher_forced_one(settings, make_model, five):
    model = make_model(3, end=-0.5)
    memory = model.encode(*five)
    found = search(model, memory, beam=8, n_best=8, **settings, max_length=7, prefixes=PREFIXES)
    for row, ranked in enumerate(found):
        alone = memory.select(torch.tensor([row]))
        assert len({(h.ids, h.ended) for h in ranked}) == len(ranked) > 0
        assert [h.score for h in ranked] == sorted((h.score for h in ranked), reverse=True)
        assert all(h.ids[: len(PREFIXES[row])] == PREFIXES[row] for h in ranked)  # and the prefix is in log_prob:
        want = forced(model, alone, [[*h.ids, *[EOS] * h.ended] for h in ranked])
        assert [h.log_prob for h in ranked] == pytest.approx(want, rel=1e-5)


def test_the_score_counts_the_end_in_the_length(make_model, five):
    model = make_model(3, end=-1.0)
    (found,) = search(model, model.encode(*one(five)), beam=8, n_best=8, length_penalty=0.7, max_length=5)
    assert {h.ended for h in found} == {True, False}
    for h in found:
        assert h.score == pytest.approx(h.log_prob / (len(h.ids) + h.ended) ** 0.7)


@pytest.mark.parametrize("settings", OPTIONS.values(), ids=OPTIONS)
def test_beam_one_is_greedy(settings, make_model, five):
    model = make_model(2)
    memory = model.encode(*five)
    options = SearchRequest(beam=1, **settings, max_length=9).filled()
    rules = Rules.of(options, PREFIXES, memory)
    with torch.inference_mode():
        beams = beam_search(model, memory, torch.full((5,), 9), options, rules)
    assert same(search(model, memory, options, prefixes=PREFIXES), beams)


def test_only_the_coverage_penalty_looks_at_the_attention(make_model, five):
    model = make_model(0)
    memory = model.encode(*five)
    search(model, memory, min_length=2, no_repeat_ngram=2, prefixes=PREFIXES)
    assert model.traced == 0
    model.rows_seen.clear()
    search(model, memory, coverage_penalty=0.1)
    assert model.traced == len(model.rows_seen) > 0


def test_a_coverage_penalty_needs_attention(make_model, five):
    model = make_model(0, attention=False)
    with pytest.raises(UsageError, match=r"coverage_penalty = 0\.1: this model has no attention"):
        search(model, model.encode(*five), coverage_penalty=0.1)


def test_a_coverage_penalty_never_is_infinite(make_model, five):
    """Attention of exactly 0 has no logarithm."""
    model = make_model(0)
    memory = model.encode(*five)
    memory.annotations.mul_(1e6)
    found = search(model, memory, coverage_penalty=0.5, beam=3, n_best=3, max_length=4)
    assert all(math.isfinite(h.score) for ranked in found for h in ranked)


def test_what_covers_the_source_overtakes(make_model, five):
    """With weight enough the ranking is that of the coverage alone."""
    model = make_model(4)
    memory = model.encode(*one(five))
    (found,) = search(model, memory, beam=9, n_best=9, coverage_penalty=10.0, max_length=6)
    values = covered(model, memory, [[*h.ids, *[EOS] * h.ended] for h in found])
    assert values[0] > min(values) + 0.5
    (plain,) = search(model, memory, beam=9, n_best=9, max_length=6)
    assert plain[0].ids != found[0].ids


def test_a_prefix_may_break_the_other_rules(make_model, five):
    model = make_model(1)
    memory = model.encode(*one(five))
    for beam in (1, 3):
        ((best,),) = search(model, memory, beam=beam, no_repeat_ngram=1, min_length=9, prefixes=[(4, 4, 4, EOS)])
        assert best.ids == (4, 4, 4) and best.ended
        ((best,),) = search(model, memory, beam=beam, no_repeat_ngram=2, prefixes=[(4, 4, 4)], min_length=5)
        assert best.ids[:3] == (4, 4, 4) and best.ids[3] != 4 and len(best.ids) >= 5


def test_a_prefix_beyond_the_limit_is_cut_there(make_model, five):
    model = make_model(1)
    for beam in (1, 3):
        ((best,),) = search(model, model.encode(*one(five)), beam=beam, max_length=2, prefixes=[(4, 5, 6)])
        assert (best.ids, best.ended) == ((4, 5), False)


def test_as_many_prefixes_as_sentences(make_model, five):
    model = make_model(1)
    with pytest.raises(ValueError, match="4 prefixes for 5 sentences"):
        search(model, model.encode(*five), prefixes=PREFIXES[:4])


def test_a_beam_wider_than_the_vocabulary_finds_every_sequence(make_model, five):
    """5 writable tokens and EOS, at most 2 of them: 1 empty, 5 ended after one, 25 cut off."""
    model = make_model(0, vocab=8)
    (found,) = search(model, model.encode(*one(five)), beam=40, n_best=40, max_length=2)
    assert len(found) == len({h.ids for h in found}) == 31
    assert sum(math.exp(h.log_prob) for h in found) < 1
    assert all(math.isfinite(h.log_prob) for h in found)
    assert sorted({(len(h.ids), h.ended) for h in found}) == [(0, True), (1, True), (2, False)]


def test_score_ignores_padding(make_model, five):
    model = make_model(1)
    memory = model.encode(*(part[:2] for part in five))
    target = torch.tensor([[5, 4, EOS, PAD, PAD], [7, 6, 8, 4, EOS]])
    before = torch.cat([torch.full((2, 1), BOS), target[:, :-1]], 1)
    both = score(model, memory, before, target, target != PAD)
    alone = score(model, memory.select(torch.tensor([0])), before[:1, :3], target[:1, :3], target[:1, :3] != PAD)
    log_probs = model.project(model.hidden(before, memory)).log_softmax(-1)
    want = sum(log_probs[0, t, token].item() for t, token in enumerate([5, 4, EOS]))
    assert both.shape == (2,)
    assert both[0].item() == pytest.approx(alone.item()) == pytest.approx(want)


@pytest.mark.parametrize("settings", [{}, {"coverage_penalty": 0.2, "no_repeat_ngram": 3}])
@pytest.mark.parametrize("beam", [1, 3])
def test_memory_is_never_copied_and_finished_sentences_leave(beam, settings, make_model, five):
    model = make_model(2, end=1.0)
    search(model, model.encode(*five), beam=beam, max_length=12, **settings)
    memory_rows = [rows for rows, _ in model.rows_seen]
    assert all(state_rows == beam * rows for rows, state_rows in model.rows_seen)
    assert memory_rows[0] == 5 and memory_rows[-1] < 5
    assert memory_rows == sorted(memory_rows, reverse=True)


def test_a_sentence_without_anything_left_to_write_is_done(make_model, five):
    """Six tokens, none twice: after six of them nothing but the end is left, far below the limit."""
    model = make_model(2, end=-1e4)
    (found,) = search(model, model.encode(*one(five)), beam=4, n_best=4, no_repeat_ngram=1, max_length=40)
    assert all(h.ended and sorted(h.ids) == [3, 4, 5, 6, 7, 8] for h in found)
    assert len(model.rows_seen) == 7
    model.rows_seen.clear()
    (found,) = search(model, model.encode(*one(five)), beam=4, n_best=4, prefixes=[(4, EOS)])
    assert [h.ids for h in found] == [(4,)]  # one of four: yet nothing else can come
    assert len(model.rows_seen) == 2


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_minimum_length_gives_way_where_nothing_else_is_left(beam, make_model, five):
    """Three tokens, none twice, yet five are wanted: an output ends when it has all three."""
    model = make_model(2, vocab=6, end=-3.0)
    memory = model.encode(*five)
    options = SearchRequest(beam=beam, n_best=beam, no_repeat_ngram=1, min_length=5, max_length=9).filled()
    found = search(model, memory, options)
    assert all(h.ended and sorted(h.ids) == [3, 4, 5] for ranked in found for h in ranked)
    rows = [memory.select(torch.tensor([row])) for row in range(5)]
    assert same(found, [rule_book(model, row, options, 9) for row in rows])


@pytest.mark.parametrize("beam", [1, 4])
def test_output_is_bounded_by_each_source_alone(beam, make_model, five):
    """A model that never ends: 2 x source length + 50 tokens, whatever else is in the batch."""
    model = make_model(0, end=-1e4)
    found = search(model, model.encode(*five), beam=beam)
    assert [len(best.ids) for (best,) in found] == [56, 52, 58, 54, 54]
    assert not any(best.ended for (best,) in found)


@pytest.mark.parametrize("beam", [1, 4])
def test_output_has_the_length_it_must(beam, make_model, five):
    model = make_model(0, end=8.0)
    found = search(model, model.encode(*five), beam=beam, n_best=beam, min_length=6)
    assert min(len(h.ids) for ranked in found for h in ranked) == 6


def test_pad_and_bos_are_never_written_but_unk_is(make_model, five):
    model = make_model(0)
    model.bias.data[[PAD, BOS]] = 50.0
    model.bias.data[UNK] = 20.0
    memory = model.encode(*five)
    for beam in (1, 4):
        found = search(model, memory, beam=beam, n_best=beam, max_length=4)
        written = {token for sentence in found for h in sentence for token in h.ids}
        assert UNK in written and not written & {PAD, BOS, EOS}
        assert all(h.log_prob < -20 for sentence in found for h in sentence)  # the model's own: not renormalised


def test_an_output_may_be_empty(make_model, five):
    model = make_model(0, end=30.0)
    memory = model.encode(*one(five))
    for beam in (1, 3):
        ((best,),) = search(model, memory, beam=beam)
        assert best.ids == () and best.score == best.log_prob == pytest.approx(0, abs=1e-4)


def test_half_precision_is_summed_in_float32(make_model, five):
    model = make_model(0).to(torch.bfloat16)
    (best,), *_ = search(model, model.encode(*five), beam=4, max_length=6)
    assert best.log_prob != float(torch.tensor(best.log_prob).bfloat16())


@pytest.mark.parametrize("settings", [{}, {"min_length": 2, "no_repeat_ngram": 1}])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_broken_model_ends_too(beam, settings, make_model, five):
    model = make_model(0)
    model.out.data.fill_(math.nan)
    found = search(model, model.encode(*five), beam=beam, n_best=beam, max_length=6, **settings)
    assert all(sentence and math.isnan(sentence[0].log_prob) for sentence in found)


@pytest.mark.parametrize("beam", [1, 3])
def test_no_sentence_no_answer(beam, make_model, five):
    model = make_model(0)
    assert search(model, model.encode(*(part[:0] for part in five)), beam=beam) == []
