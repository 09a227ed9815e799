"""Sampling: the right distribution, cut where asked, the same for the same seed whatever the batch."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch

from seqloom.decode.options import SearchRequest
from seqloom.decode.sample import draw, draw_noise, pick, sample
from seqloom.decode.score import score
from seqloom.decode.search import search
from seqloom.text.vocabulary import BOS, EOS, PAD

SEEDS = [11, 12, 13, 14, 15]
SHORT = SearchRequest(max_length=8)


def next_probs(model, memory, written=()):
    logits = model.project(model.hidden(torch.tensor([[BOS, *written]]), memory)[:, -1])
    return logits.softmax(-1)[0].tolist()


def test_tokens_come_as_often_as_the_model_says(make_model, five):
    """4,000 first tokens against the probabilities, PAD and BOS left out: within four standard deviations."""
    model = make_model(0, end=1.0)
    memory = model.encode(*(part[:1] for part in five))
    num, rounds = 1000, 4
    drawn = Counter()
    for seed in range(rounds):
        (found,) = sample(model, memory, SearchRequest(sample=num, max_length=1), seeds=[seed])
        drawn.update(EOS if h.ended else h.ids[0] for h in found)
    probs = next_probs(model, memory)
    total = sum(p for token, p in enumerate(probs) if token not in (PAD, BOS))
    assert not {PAD, BOS} & drawn.keys()
    for token in range(EOS, 9):
        p = probs[token] / total
        assert abs(drawn[token] - num * rounds * p) < 4 * math.sqrt(num * rounds * p * (1 - p)) + 1


def test_temperature_sharpens(make_model, five):
    model = make_model(0)
    memory = model.encode(*five)
    cold = [found[0].ids for found in sample_all(model, memory, temperature=0.01)]
    greedy = [found[0].ids for found in search(model, memory, SHORT, beam=1)]
    assert cold == greedy
    log_probs = torch.tensor([[math.log(0.64), math.log(0.32), math.log(0.04)]])
    # Squared and normalised: 0.4096, 0.1024, 0.0016 of 0.5136 -> cumulative 0.7975, 0.9969, 1
    cuts = [(0.79, 0), (0.80, 1), (0.9965, 1), (0.9972, 2)]
    for noise, token in cuts:
        assert draw(log_probs, torch.tensor([noise]).double(), drawing(temperature=0.5)).item() == token


def drawing(**how):
    return SearchRequest(sample=1, **how).filled()


def sample_all(model, memory, options=SHORT, prefixes=None, num=1, **how):
    request = replace(options, sample=num, **how)
    return sample(model, memory, request, seeds=SEEDS[: len(memory.mask)], prefixes=prefixes)


def test_top_k_and_top_p_cut():
    log_probs = torch.tensor([[0.1, 0.5, 0.15, 0.25]]).log()
    noise = torch.linspace(0, 0.9999, 200).double()

    def drawn(**how):
        return set(draw(log_probs.expand(200, 4), noise, drawing(**how)).tolist())

    assert drawn() == {0, 1, 2, 3}
    assert drawn(top_k=1) == {1}
    assert drawn(top_k=3) == {1, 2, 3}
    assert drawn(top_k=99) == {0, 1, 2, 3}
    assert drawn(top_p=0.4) == {1}
    assert drawn(top_p=0.5) == {1}  # the fewest that hold the share
    assert drawn(top_p=0.51) == {1, 3}
    assert drawn(top_p=0.9) == {1, 2, 3}
    assert drawn(top_p=1e-9) == {1}
    # Of the three most probable, 0.5 / 0.9 and 0.25 / 0.9 hold 0.83: top_p counts after top_k
    assert drawn(top_k=3, top_p=0.8) == {1, 3}
    shares = Counter(draw(log_probs.expand(200, 4), noise, drawing(top_k=2)).tolist())
    assert shares[1] == pytest.approx(200 * 2 / 3, abs=2)


@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("scale", [0.1, 4.0], ids=["flat", "peaked"])
def test_top_p_of_a_large_vocabulary_keeps_what_a_full_sort_keeps(top_p, scale):
    """Only as many tokens are sorted as are needed; the fewest that hold the share may still be most of them."""
    torch.manual_seed(0)
    log_probs = (scale * torch.randn(1, 3000).double()).log_softmax(-1)
    ranked, order = log_probs.exp()[0].sort(descending=True)
    kept = int((ranked.double().cumsum(0) < top_p).sum()) + 1
    noise = torch.linspace(0, 0.99999, 500).double()
    drawn = draw(log_probs.expand(500, -1), noise, drawing(top_p=top_p)).tolist()
    inside = ranked[:kept].double().cumsum(0)
    places = torch.searchsorted(inside, noise * inside[-1], right=True)
    assert drawn == order[places].tolist()


def test_a_number_falls_on_the_token_whose_share_it_is_in():
    shares = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]]).double()
    for noise, place in [(0.0, 1), (0.2499, 1), (0.25, 3), (0.9999999, 3)]:
        assert pick(shares, torch.tensor([noise]).double()).item() == place
    for many in range(2, 60):  # 1 - 2^-53 times some totals is the total: yet what has no share is never drawn
        shares = torch.cat([torch.full((1, many), 1 / 3), torch.zeros(1, 1)], 1)
        assert pick(shares, torch.tensor([1 - 2**-53]).double()).item() == many - 1


def test_the_same_seed_gives_the_same_text_in_any_batch(make_model, five):
    model = make_model(1)
    memory = model.encode(*five)
    together = sample_all(model, memory, num=3)
    order = [3, 0, 4, 1, 2]
    shuffled = sample(
        model,
        memory.select(torch.tensor(order)),
        replace(SHORT, sample=3),
        seeds=[SEEDS[row] for row in order],
    )
    for place, row in enumerate(order):
        assert [h.ids for h in shuffled[place]] == [h.ids for h in together[row]]
        alone = memory.select(torch.tensor([row]))
        (found,) = sample(model, alone, replace(SHORT, sample=3), seeds=[SEEDS[row]])
        assert [h.ids for h in found] == [h.ids for h in together[row]]
        assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in together[row]])
    (more,) = sample(model, memory.select(torch.tensor([0])), replace(SHORT, sample=7), seeds=SEEDS[:1])
    assert [h.ids for h in more[:3]] == [h.ids for h in together[0]]


def test_other_seeds_and_other_samples_give_other_texts(make_model, five):
    model = make_model(1)
    memory = model.encode(*(part[:1] for part in five))
    by_seed = {sample(model, memory, replace(SHORT, sample=1), seeds=[seed])[0][0].ids for seed in range(10)}
    (of_one,) = sample(model, memory, replace(SHORT, sample=10), seeds=[0])
    assert len(by_seed) > 5
    assert len({h.ids for h in of_one}) > 5


def test_noise_is_one_number_per_token():
    noise = draw_noise([1, 2], 3, torch.tensor([4, 6]))
    assert noise.shape == (2, 3, 6)
    assert (noise[0, :, 4:] == 0).all() and (noise[1] > 0).all() and (noise < 1).all()
    assert torch.equal(noise[1], draw_noise([2], 3, torch.tensor([6]))[0])
    assert len(set(noise[1].flatten().tolist())) == 18
    assert not torch.equal(draw_noise([(1, 2)], 1, torch.tensor([5])), draw_noise([(2, 1)], 1, torch.tensor([5])))


@pytest.mark.parametrize("how", [{}, {"temperature": 0.5, "top_k": 3}, {"top_p": 0.7, "temperature": 2.0}])
def test_log_prob_is_the_models_own(how, make_model, five):
    model = make_model(2, end=0.5)
    memory = model.encode(*five)
    options = SearchRequest(max_length=8, length_penalty=0.7, min_length=2, no_repeat_ngram=2)
    prefixes = [(), (5,), (4, 4, 6), (8, 7), (3,)]
    ended = set()
    for row, found in enumerate(sample_all(model, memory, options, prefixes, num=4, **how)):
        assert len(found) == 4
        for h in found:
            written = torch.tensor([[*h.ids, *[EOS] * h.ended]])
            before = torch.cat([torch.tensor([[BOS]]), written[:, :-1]], 1)
            alone = memory.select(torch.tensor([row]))
            forced = score(model, alone, before, written, torch.ones_like(written, dtype=torch.bool))
            assert h.log_prob == pytest.approx(forced.item(), rel=1e-5)
            assert h.score == pytest.approx(h.log_prob / written.shape[1] ** 0.7)
            assert h.ids[: len(prefixes[row])] == prefixes[row]
            assert len(h.ids) >= 2 and PAD not in h.ids
            pairs = list(zip(h.ids, h.ids[1:], strict=False))
            assert len(set(pairs)) == len(pairs) or row == 2  # where the prefix itself may repeat
            ended.add(h.ended)
    assert True in ended


def test_finished_sentences_leave_and_memory_is_never_copied(make_model, five):
    model = make_model(2, end=1.0)
    sample_all(model, model.encode(*five), SearchRequest(max_length=12), num=2)
    assert all(rows == 2 * memory_rows for memory_rows, rows in model.rows_seen)
    memory_rows = [rows for rows, _ in model.rows_seen]
    assert memory_rows == sorted(memory_rows, reverse=True) and memory_rows[-1] < 5


def test_each_sentence_keeps_its_prefix_when_others_have_left(make_model, five):
    model = make_model(0, end=40.0)  # it ends as soon as it may
    prefixes = [(), (5,), (4, 4, 6), (8, 7), (3,)]
    found = sample_all(model, model.encode(*five), prefixes=prefixes, num=2)
    assert [[h.ids for h in drawn] for drawn in found] == [[prefix] * 2 for prefix in prefixes]
    assert [rows for rows, _ in model.rows_seen] == [5, 4, 2, 1]


def test_output_is_bounded(make_model, five):
    model = make_model(0, end=-1e4)
    found = sample(model, model.encode(*five), SearchRequest(sample=2), seeds=SEEDS)
    assert [len(h.ids) for ranked in found for h in ranked] == [56, 56, 52, 52, 58, 58, 54, 54, 54, 54]
    assert not any(h.ended for ranked in found for h in ranked)


def test_a_broken_model_ends_too(make_model, five):
    model = make_model(0)
    model.out.data.fill_(math.nan)
    assert len(sample_all(model, model.encode(*five), num=2)) == 5


def test_no_sentence_no_answer(make_model, five):
    model = make_model(0)
    assert sample(model, model.encode(*(part[:0] for part in five)), SearchRequest(sample=1), seeds=[]) == []
